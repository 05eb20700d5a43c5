SELECT a, b, c, COUNT(*) AS n FROM r GROUP BY ROLLUP ((a, b), c);

-- groups: group by a, b, c, grouping_set; count_1 = COUNT(*)
--   groups(r.a, r.b, r.c, grouping_set = 0) :- r.
--   groups(r.a, r.b, c = CAST(NULL AS STRING), grouping_set = 1) :- r.
--   groups(a = CAST(NULL AS INT), b = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 2) :- r.
-- the_view: bag
--   the_view(groups.a, groups.b, groups.c, n = groups.count_1) :- groups.
