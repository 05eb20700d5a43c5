SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS n FROM r ORDER BY n DESC, a, b LIMIT 5;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `count(1)` = 0) :- r, ¬exists(r.b).
-- groups_2: group by outer_1; count_1 = COUNT(*)
--   groups_2(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(groups_2.outer_1) :- groups_2.
-- joined_2: bag
--   joined_2(joined.a, joined.b, joined.`count(1)`, `count(1)_2` = groups_2.count_1) :- joined, groups_2, groups_2.outer_1 = joined.b.
--   joined_2(joined.a, joined.b, joined.`count(1)`, `count(1)_2` = 0) :- joined, ¬exists_2(joined.b).
-- first: in one partition; the first 5 by order_1 DESC, a, b, n
--   first(joined_2.a, joined_2.b, n = joined_2.`count(1)`, order_1 = joined_2.`count(1)_2`) :- joined_2.
-- the_view: bag
--   the_view(first.a, first.b, first.n) :- first.
