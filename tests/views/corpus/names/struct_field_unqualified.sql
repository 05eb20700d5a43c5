SELECT both.x AS x, COUNT(*) AS n FROM (SELECT STRUCT(a AS x, c AS y) AS both FROM r) AS q GROUP BY both.x;

-- the_view: group by x; n = COUNT(*)
--   the_view(x = STRUCT(r.a AS x, r.c AS y).x) :- r.
