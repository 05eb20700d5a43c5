SELECT c, SUM(a) AS total FROM r GROUP BY c HAVING COUNT(*) > 2 AND SUM(a) > 3;

-- groups: group by c; sum_1 = SUM(a); count_2 = COUNT(*)
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(groups.c, total = groups.sum_1) :- groups, groups.count_2 > 2, groups.sum_1 > 3.
