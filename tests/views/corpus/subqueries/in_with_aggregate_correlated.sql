SELECT a, b FROM r WHERE a IN (SELECT MAX(s.d) FROM s WHERE s.b = r.b);

-- groups: group by outer_1; max_1 = MAX(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `max(d)` = groups.max_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `max(d)` = NULL) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, joined.a = joined.`max(d)`.
