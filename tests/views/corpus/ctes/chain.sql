WITH q AS (SELECT a, b FROM r WHERE a > 0), w AS (SELECT b, COUNT(*) AS n FROM q GROUP BY b) SELECT q.a, w.n FROM q JOIN w ON q.b = w.b;

-- groups: group by b; count_1 = COUNT(*)
--   groups(r.b) :- r, r.a > 0.
-- the_view: bag
--   the_view(r.a, n = groups.count_1) :- r, groups, r.a > 0, r.b = groups.b.
