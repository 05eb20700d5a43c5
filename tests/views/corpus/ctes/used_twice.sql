WITH q AS (SELECT b, SUM(d) AS total FROM s GROUP BY b) SELECT x.b, y.total FROM q AS x JOIN q AS y ON x.b = y.total - 1;

-- groups: group by b; sum_1 = SUM(d)
--   groups(s.b, s.d) :- s.
-- the_view: bag
--   the_view(groups.b, total = groups_2.sum_1) :- groups, groups groups_2, groups.b = groups_2.sum_1 - 1.
