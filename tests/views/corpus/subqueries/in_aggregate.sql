SELECT c, SUM((SELECT COUNT(*) FROM s WHERE s.b = r.b)) AS total FROM r GROUP BY c;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups_2.outer_1) :- groups groups_2.
-- joined: bag
--   joined(r.c, `count(1)` = groups_2.count_1) :- r, groups groups_2, groups_2.outer_1 = r.b.
--   joined(r.c, `count(1)` = 0) :- r, ¬exists(r.b).
-- the_view: group by c; total = SUM(`count(1)`)
--   the_view(joined.c, joined.`count(1)`) :- joined.
