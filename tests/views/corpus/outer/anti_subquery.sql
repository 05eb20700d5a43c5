SELECT a, b FROM r LEFT ANTI JOIN (SELECT b FROM s GROUP BY b HAVING COUNT(*) > 1) AS q ON r.b = q.b;

-- groups: group by b; count_1 = COUNT(*)
--   groups(s.b) :- s.
-- exists: set
--   exists(outer_1 = groups.b) :- groups, groups.count_1 > 1, NOT groups.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b).
