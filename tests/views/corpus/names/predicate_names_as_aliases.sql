SELECT `exists`.a, groups.n FROM r AS `exists` JOIN (SELECT b, COUNT(*) AS n FROM s GROUP BY b) AS groups ON `exists`.b = groups.b;

-- groups: group by b; count_1 = COUNT(*)
--   groups(s.b) :- s.
-- the_view: bag
--   the_view(exists.a, n = groups_2.count_1) :- r exists, groups groups_2, exists.b = groups_2.b.
