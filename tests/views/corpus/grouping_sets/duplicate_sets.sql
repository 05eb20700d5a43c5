SELECT a, COUNT(*) AS n FROM r GROUP BY GROUPING SETS ((a), (a), ());

-- groups: group by a, grouping_set; count_1 = COUNT(*)
--   groups(r.a, grouping_set = 0) :- r.
--   groups(r.a, grouping_set = 1) :- r.
--   groups(a = CAST(NULL AS INT), grouping_set = 2) :- r.
-- the_view: bag
--   the_view(groups.a, n = groups.count_1) :- groups.
