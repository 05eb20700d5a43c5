SELECT r.c, s.e, SUM(s.d) AS total FROM r JOIN s ON r.b = s.b GROUP BY GROUPING SETS ((r.c), (s.e), (r.c, s.e));

-- groups: group by c, e, grouping_set; sum_1 = SUM(d)
--   groups(r.c, e = CAST(NULL AS STRING), grouping_set = 0, s.d) :- r, s, r.b = s.b.
--   groups(c = CAST(NULL AS STRING), s.e, grouping_set = 1, s.d) :- r, s, r.b = s.b.
--   groups(r.c, s.e, grouping_set = 2, s.d) :- r, s, r.b = s.b.
-- the_view: bag
--   the_view(groups.c, groups.e, total = groups.sum_1) :- groups.
