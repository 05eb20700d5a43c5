SELECT a, c, COUNT(*) AS n FROM r GROUP BY GROUPING SETS ((a), (c));

-- groups: group by a, c, grouping_set; count_1 = COUNT(*)
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 0) :- r.
--   groups(a = CAST(NULL AS INT), r.c, grouping_set = 1) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, n = groups.count_1) :- groups.
