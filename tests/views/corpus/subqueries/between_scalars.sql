SELECT a, b FROM r WHERE a BETWEEN (SELECT MIN(d) FROM s WHERE s.b = r.b) AND (SELECT MAX(d) FROM s);

-- groups: group by outer_1; min_1 = MIN(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `min(d)` = groups.min_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `min(d)` = NULL) :- r, ¬exists(r.b).
-- groups_2: one group; max_1 = MAX(d)
--   groups_2(s_2.d) :- s s_2.
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, groups_2, joined.a BETWEEN joined.`min(d)` AND groups_2.max_1.
