SELECT a, c, GROUPING_ID(a, c) AS level, COUNT(*) AS n FROM r GROUP BY CUBE (a, c);

-- groups: group by a, c, grouping_set; count_2 = COUNT(*)
--   groups(r.a, r.c, grouping_set = 0) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1) :- r.
--   groups(a = CAST(NULL AS INT), r.c, grouping_set = 2) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 3) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, level = CAST(CASE WHEN groups.grouping_set = 0 THEN 0 WHEN groups.grouping_set = 1 THEN 1 WHEN groups.grouping_set = 2 THEN 2 WHEN groups.grouping_set = 3 THEN 3 END AS BIGINT), n = groups.count_2) :- groups.
