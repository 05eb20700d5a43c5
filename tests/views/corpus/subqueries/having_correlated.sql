SELECT b, COUNT(*) AS n FROM r GROUP BY b HAVING COUNT(*) > (SELECT COUNT(*) FROM s WHERE s.b = r.b);

-- groups: group by b; count_1 = COUNT(*)
--   groups(r.b) :- r.
-- groups_2: group by outer_1; count_1 = COUNT(*)
--   groups_2(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups_2.outer_1) :- groups_2.
-- joined: bag
--   joined(groups.b, groups.count_1, `count(1)` = groups_2.count_1) :- groups, groups_2, groups_2.outer_1 = groups.b.
--   joined(groups.b, groups.count_1, `count(1)` = 0) :- groups, ¬exists(groups.b).
-- the_view: bag
--   the_view(joined.b, n = joined.count_1) :- joined, joined.count_1 > joined.`count(1)`.
