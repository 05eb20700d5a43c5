SELECT a, (SELECT MIN(d) FROM s WHERE s.b = r.b) AS least, (SELECT MAX(d) FROM s WHERE s.b = r.b) AS most FROM r;

-- groups: group by outer_1; min_1 = MIN(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `min(d)` = groups.min_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `min(d)` = NULL) :- r, ¬exists(r.b).
-- groups_2: group by outer_1; max_1 = MAX(d)
--   groups_2(outer_1 = s_2.b, s_2.d) :- s s_2, NOT s_2.b IS NULL.
-- exists_2: set
--   exists_2(groups_2.outer_1) :- groups_2.
-- the_view: bag
--   the_view(joined.a, least = joined.`min(d)`, most = groups_2.max_1) :- joined, groups_2, groups_2.outer_1 = joined.b.
--   the_view(joined.a, least = joined.`min(d)`, most = NULL) :- joined, ¬exists_2(joined.b).
