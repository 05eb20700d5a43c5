SELECT x, COUNT(*) AS n FROM (SELECT a AS x FROM r UNION ALL SELECT b FROM s) AS u GROUP BY x;

-- union: bag
--   union(x = r.a) :- r.
--   union(x = s.b) :- s.
-- the_view: group by x; n = COUNT(*)
--   the_view(u.x) :- union u.
