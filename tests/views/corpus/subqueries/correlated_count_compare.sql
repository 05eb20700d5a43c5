SELECT a, b FROM r WHERE a >= (SELECT COUNT(*) FROM s WHERE s.b = r.b AND s.d > 1);

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `count(1)` = 0) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, joined.a >= joined.`count(1)`.
