SELECT r.a, s.d FROM r JOIN s ON r.b = s.b AND s.d = (SELECT MAX(t.d) FROM t WHERE t.a = s.b);

-- groups: group by outer_1; max_1 = MAX(d)
--   groups(outer_1 = t.a, t.d) :- t, NOT t.a IS NULL.
-- the_view: bag
--   the_view(r.a, s.d) :- r, s, groups, r.b = s.b, groups.outer_1 = s.b, s.d = groups.max_1.
