SELECT c, COUNT(*) AS n FROM r GROUP BY c EXCEPT SELECT e, COUNT(*) FROM s GROUP BY e;

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- groups_2: group by e; count_1 = COUNT(*)
--   groups_2(s.e) :- s.
-- distinct: set
--   distinct(c = groups_2.e, n = groups_2.count_1) :- groups_2.
-- the_view: set
--   the_view(groups.c, n = groups.count_1) :- groups, ¬distinct(groups.c, groups.count_1).
