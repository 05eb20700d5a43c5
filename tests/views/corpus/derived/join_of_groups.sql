SELECT x.b, x.n, y.total FROM (SELECT b, COUNT(*) AS n FROM r GROUP BY b) AS x JOIN (SELECT b, SUM(d) AS total FROM s GROUP BY b) AS y ON x.b = y.b;

-- groups: group by b; count_1 = COUNT(*)
--   groups(r.b) :- r.
-- groups_2: group by b; sum_1 = SUM(d)
--   groups_2(s.b, s.d) :- s.
-- the_view: bag
--   the_view(groups.b, n = groups.count_1, total = groups_2.sum_1) :- groups, groups_2, groups.b = groups_2.b.
