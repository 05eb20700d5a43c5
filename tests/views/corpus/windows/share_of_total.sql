SELECT c, b, SUM(a) AS total, SUM(SUM(a)) OVER (PARTITION BY c) AS of_c FROM r GROUP BY c, b;

-- groups: group by c, b; sum_1 = SUM(a)
--   groups(r.c, r.b, r.a) :- r.
-- the_view: per c; of_c = SUM(total) OVER (PARTITION BY c)
--   the_view(groups.c, groups.b, total = groups.sum_1) :- groups.
