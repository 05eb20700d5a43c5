SELECT a, c, SUM(a) AS total, COUNT(c) AS known FROM r GROUP BY CUBE (a, c);

-- groups: group by a, c, grouping_set; sum_1 = SUM(a_2); count_2 = COUNT(c_2)
--   groups(r.a, r.c, grouping_set = 0, a_2 = r.a, c_2 = r.c) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1, a_2 = r.a, c_2 = r.c) :- r.
--   groups(a = CAST(NULL AS INT), r.c, grouping_set = 2, a_2 = r.a, c_2 = r.c) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 3, a_2 = r.a, c_2 = r.c) :- r.
-- the_view: bag
--   the_view(groups.a, groups.c, total = groups.sum_1, known = groups.count_2) :- groups.
