SELECT a, c, GROUPING(a) AS no_a, GROUPING(c) AS no_c, COUNT(*) AS n FROM r GROUP BY ROLLUP (a, c);

-- groups: group by a, c, grouping_set; count_3 = COUNT(*)
--   groups(r.a, r.c, grouping_set = 0) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 2) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, no_a = CAST(CASE WHEN groups.grouping_set = 0 THEN 0 WHEN groups.grouping_set = 1 THEN 0 WHEN groups.grouping_set = 2 THEN 1 END AS TINYINT), no_c = CAST(CASE WHEN groups.grouping_set = 0 THEN 0 WHEN groups.grouping_set = 1 THEN 1 WHEN groups.grouping_set = 2 THEN 1 END AS TINYINT), n = groups.count_3) :- groups.
