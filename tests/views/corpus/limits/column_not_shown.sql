SELECT 1 AS one FROM (SELECT b FROM r ORDER BY b LIMIT 2) AS x;

-- first: in one partition; the first 2 by b
--   first(r.b) :- r.
-- the_view: bag
--   the_view(one = 1) :- first x.
