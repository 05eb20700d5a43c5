SELECT a, c, COUNT(DISTINCT b) AS kinds FROM r GROUP BY ROLLUP (a, c);

-- groups: group by a, c, grouping_set; count_1 = COUNT(DISTINCT b)
--   groups(r.a, r.c, grouping_set = 0, r.b) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1, r.b) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 2, r.b) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, kinds = groups.count_1) :- groups.
