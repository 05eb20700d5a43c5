SELECT c, SUM(a) AS b FROM r GROUP BY c HAVING SUM(a) > 2;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(groups.c, b = groups.sum_1) :- groups, groups.sum_1 > 2.
