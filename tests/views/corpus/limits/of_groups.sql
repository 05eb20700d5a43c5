SELECT c, SUM(a) AS total FROM r GROUP BY c ORDER BY total DESC, c LIMIT 2;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: in one partition; the first 2 by total DESC, c
--   the_view(groups.c, total = groups.sum_1) :- groups.
