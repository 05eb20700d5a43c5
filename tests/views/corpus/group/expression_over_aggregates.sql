SELECT c, (SUM(a) + SUM(b)) * 2 - COUNT(*) AS mixed FROM r GROUP BY c;

-- groups: group by c; sum_1 = SUM(a); sum_2 = SUM(b); count_3 = COUNT(*)
--   groups(r.c, r.a, r.b) :- r.
-- the_view: bag
--   the_view(groups.c, mixed = (groups.sum_1 + groups.sum_2) * 2 - groups.count_3) :- groups.
