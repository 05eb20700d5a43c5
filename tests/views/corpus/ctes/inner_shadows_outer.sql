WITH q AS (SELECT a FROM r) SELECT x.a, y.a AS other FROM q AS x JOIN (WITH q AS (SELECT d AS a FROM s) SELECT a FROM q WHERE a > 1) AS y ON x.a = y.a;

-- the_view: bag
--   the_view(r.a, other = s.d) :- r, s, s.d > 1, r.a = s.d.
