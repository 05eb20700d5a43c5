SELECT a, b FROM r ORDER BY a, b LIMIT 4 OFFSET 2;

-- the_view: in one partition; the first 4 after 2 by a, b
--   the_view(r.a, r.b) :- r.
