SELECT a, (SELECT SUM(t.f) FROM s JOIN t ON s.d = t.d WHERE s.b = r.b) AS total FROM r;

-- groups: group by outer_1; sum_1 = SUM(f)
--   groups(outer_1 = s.b, t.f) :- s, t, s.d = t.d, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, total = groups.sum_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, total = NULL) :- r, ¬exists(r.b).
