SELECT c, SUM(a) AS total FROM r GROUP BY c HAVING SUM(a) > (SELECT AVG(d) FROM s);

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- groups_2: one group; avg_1 = AVG(d)
--   groups_2(s.d) :- s.
-- the_view: bag
--   the_view(groups.c, total = groups.sum_1) :- groups, groups_2, groups.sum_1 > groups_2.avg_1.
