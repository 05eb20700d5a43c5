SELECT q.kind, q.n, COUNT(*) AS times FROM (SELECT 'r' AS kind, a AS n FROM r UNION ALL SELECT 's', b FROM s) AS q GROUP BY q.kind, q.n;

-- union: bag
--   union(kind = 'r', n = r.a) :- r.
--   union(kind = 's', n = s.b) :- s.
-- the_view: group by kind, n; times = COUNT(*)
--   the_view(q.kind, q.n) :- union q.
