SELECT a, b, c, COUNT(*) AS n FROM r GROUP BY c, ROLLUP (a, b);

-- groups: group by c, a, b, grouping_set; count_1 = COUNT(*)
--   groups(r.c, r.a, r.b, grouping_set = 0) :- r.
--   groups(r.c, r.a, b = CAST(NULL AS INT), grouping_set = 1) :- r.
--   groups(r.c, a = CAST(NULL AS INT), b = CAST(NULL AS INT), grouping_set = 2) :- r.
-- the_view: bag
--   the_view(groups.a, groups.b, groups.c, n = groups.count_1) :- groups.
