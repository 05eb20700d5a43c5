SELECT x.a, y.a AS other FROM (SELECT DISTINCT a, b FROM r) AS x JOIN (SELECT DISTINCT a, b FROM r) AS y ON x.b = y.a;

-- distinct: set
--   distinct(r.a, r.b) :- r.
-- distinct_2: set
--   distinct_2(r_2.a, r_2.b) :- r r_2.
-- the_view: bag
--   the_view(x.a, other = y.a) :- distinct x, distinct_2 y, x.b = y.a.
