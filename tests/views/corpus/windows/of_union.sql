SELECT x, COUNT(*) OVER (PARTITION BY x) AS n FROM (SELECT a AS x FROM r UNION ALL SELECT b FROM s) AS q;

-- union: bag
--   union(x = r.a) :- r.
--   union(x = s.b) :- s.
-- the_view: per x; n = COUNT(*) OVER (PARTITION BY x)
--   the_view(q.x) :- union q.
