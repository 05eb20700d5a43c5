WITH q AS (SELECT c, SUM(a) AS total FROM r GROUP BY c) SELECT c, total FROM q WHERE total >= (SELECT AVG(total) FROM q);

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- groups_2: one group; avg_1 = AVG(total)
--   groups_2(total = groups.sum_1) :- groups.
-- the_view: bag
--   the_view(groups.c, total = groups.sum_1) :- groups, groups_2, groups.sum_1 >= groups_2.avg_1.
