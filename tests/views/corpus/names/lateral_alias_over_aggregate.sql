SELECT c, SUM(a) AS total, total * 2 AS twice FROM r GROUP BY c;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(groups.c, total = groups.sum_1, twice = groups.sum_1 * 2) :- groups.
