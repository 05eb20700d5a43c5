SELECT a, b FROM r ORDER BY a, b OFFSET 5;

-- the_view: in one partition; all after 5 by a, b
--   the_view(r.a, r.b) :- r.
