SELECT a, b FROM r ORDER BY a DESC, b LIMIT 3;

-- the_view: in one partition; the first 3 by a DESC, b
--   the_view(r.a, r.b) :- r.
