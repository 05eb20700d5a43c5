SELECT SUM(a) AS total FROM r HAVING COUNT(*) > 3;

-- groups: one group; sum_1 = SUM(a); count_2 = COUNT(*)
--   groups(r.a) :- r.
-- the_view: bag
--   the_view(total = groups.sum_1) :- groups, groups.count_2 > 3.
