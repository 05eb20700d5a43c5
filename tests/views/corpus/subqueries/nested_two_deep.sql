SELECT a, b FROM r WHERE a <= (SELECT MAX(s.d) FROM s WHERE s.b = r.b AND s.d >= (SELECT MIN(t.d) FROM t WHERE t.a = s.b));

-- groups: group by outer_1; min_1 = MIN(d)
--   groups(outer_1 = t.a, t.d) :- t, NOT t.a IS NULL.
-- groups_2: group by outer_1; max_1 = MAX(d)
--   groups_2(outer_1 = s.b, s.d) :- s, groups, NOT s.b IS NULL, groups.outer_1 = s.b, s.d >= groups.min_1.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups_2, groups_2.outer_1 = r.b, r.a <= groups_2.max_1.
