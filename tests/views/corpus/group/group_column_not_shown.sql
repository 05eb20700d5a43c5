SELECT SUM(a) AS total FROM r GROUP BY c;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(total = groups.sum_1) :- groups.
