SELECT x.k, x.n, y.m FROM (SELECT b AS k, COUNT(*) AS n FROM r GROUP BY b) AS x FULL JOIN (SELECT b AS k, COUNT(*) AS m FROM s GROUP BY b) AS y ON x.k = y.k;

-- groups: group by b; count_1 = COUNT(*)
--   groups(r.b) :- r.
-- groups_2: group by b; count_1 = COUNT(*)
--   groups_2(s.b) :- s.
-- exists: set
--   exists(outer_1 = groups_2.b) :- groups_2, NOT groups_2.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = groups.b) :- groups, NOT groups.b IS NULL.
-- the_view: bag
--   the_view(k = groups.b, n = groups.count_1, m = groups_2.count_1) :- groups, groups_2, groups.b = groups_2.b.
--   the_view(k = groups.b, n = groups.count_1, m = CAST(NULL AS BIGINT)) :- groups, ¬exists(groups.b).
--   the_view(k = CAST(NULL AS INT), n = CAST(NULL AS BIGINT), m = groups_2.count_1) :- groups_2, ¬exists_2(groups_2.b).
