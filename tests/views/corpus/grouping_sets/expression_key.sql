SELECT a % 2 AS parity, c, SUM(b) AS total FROM r GROUP BY ROLLUP (a % 2, c);

-- groups: group by group_1, c, grouping_set; sum_1 = SUM(b)
--   groups(group_1 = r.a % 2, r.c, grouping_set = 0, r.b) :- r.
--   groups(group_1 = r.a % 2, c = CAST(NULL AS STRING), grouping_set = 1, r.b) :- r.
--   groups(group_1 = NULL, c = CAST(NULL AS STRING), grouping_set = 2, r.b) :- r.
-- the_view: bag
--   the_view(parity = groups.group_1, groups.c, total = groups.sum_1) :- groups.
