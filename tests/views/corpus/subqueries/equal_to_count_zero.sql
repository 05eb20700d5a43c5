SELECT a, b FROM r WHERE 0 = (SELECT COUNT(*) FROM s WHERE s.b = r.b AND s.d = r.a);

-- groups: group by outer_1, outer_2; count_1 = COUNT(*)
--   groups(outer_1 = s.b, outer_2 = s.d) :- s, NOT s.b IS NULL, NOT s.d IS NULL.
-- exists: set
--   exists(groups.outer_1, groups.outer_2) :- groups.
-- joined: bag
--   joined(r.a, r.b, `count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b, groups.outer_2 = r.a.
--   joined(r.a, r.b, `count(1)` = 0) :- r, ¬exists(r.b, r.a).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, 0 = joined.`count(1)`.
