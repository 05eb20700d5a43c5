SELECT r.a, q.total FROM r LEFT JOIN (SELECT b, SUM(d) AS total FROM s GROUP BY b) AS q ON r.b = q.b;

-- groups: group by b; sum_1 = SUM(d)
--   groups(s.b, s.d) :- s.
-- exists: set
--   exists(outer_1 = groups.b) :- groups, NOT groups.b IS NULL.
-- the_view: bag
--   the_view(r.a, total = groups.sum_1) :- r, groups, r.b = groups.b.
--   the_view(r.a, total = CAST(NULL AS BIGINT)) :- r, ¬exists(r.b).
