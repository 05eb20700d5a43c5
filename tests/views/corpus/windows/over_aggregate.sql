SELECT c, SUM(a) AS total, RANK() OVER (ORDER BY SUM(a) DESC) AS place FROM r GROUP BY c;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- the_view: in one partition; place = RANK() OVER (ORDER BY total DESC)
--   the_view(groups.c, total = groups.sum_1) :- groups.
