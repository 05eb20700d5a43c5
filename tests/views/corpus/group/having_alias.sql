SELECT c, SUM(a) AS total FROM r GROUP BY c HAVING total > 3;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(groups.c, total = groups.sum_1) :- groups, groups.sum_1 > 3.
