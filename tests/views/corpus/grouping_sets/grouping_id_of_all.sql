SELECT a, c, GROUPING_ID(a, c) AS level, SUM(b) AS total FROM r GROUP BY GROUPING SETS ((a), (c), (a, c)) HAVING SUM(b) > 0;

-- groups: group by a, c, grouping_set; sum_2 = SUM(b)
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 0, r.b) :- r.
--   groups(a = CAST(NULL AS INT), r.c, grouping_set = 1, r.b) :- r.
--   groups(r.a, r.c, grouping_set = 2, r.b) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, level = CAST(CASE WHEN groups.grouping_set = 0 THEN 1 WHEN groups.grouping_set = 1 THEN 2 WHEN groups.grouping_set = 2 THEN 0 END AS BIGINT), total = groups.sum_2) :- groups, groups.sum_2 > 0.
