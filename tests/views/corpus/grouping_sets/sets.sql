SELECT a, c, COUNT(*) AS n, SUM(b) AS total FROM r GROUP BY GROUPING SETS ((a, c), (a), ());

-- groups: group by a, c, grouping_set; count_1 = COUNT(*); sum_2 = SUM(b)
--   groups(r.a, r.c, grouping_set = 0, r.b) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1, r.b) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 2, r.b) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, n = groups.count_1, total = groups.sum_2) :- groups.
