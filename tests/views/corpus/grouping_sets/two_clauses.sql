SELECT a, c, COUNT(*) AS n FROM r GROUP BY ROLLUP (a), CUBE (c);

-- groups: group by a, c, grouping_set; count_1 = COUNT(*)
--   groups(r.a, r.c, grouping_set = 0) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1) :- r.
--   groups(a = CAST(NULL AS INT), r.c, grouping_set = 2) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 3) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, n = groups.count_1) :- groups.
