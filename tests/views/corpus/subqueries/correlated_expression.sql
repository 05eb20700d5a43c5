SELECT a, (SELECT MAX(d) FROM s WHERE s.b = r.a + 1) AS top FROM r;

-- groups: group by outer_1; max_1 = MAX(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, top = groups.max_1) :- r, groups, groups.outer_1 = (r.a + 1).
--   the_view(r.a, top = NULL) :- r, ¬exists(r.a + 1).
