SELECT r.a, s.d FROM r JOIN s ON r.b = s.b WHERE s.d >= (SELECT AVG(s2.d) FROM s AS s2 WHERE s2.b = r.b);

-- groups: group by outer_1; avg_1 = AVG(d)
--   groups(outer_1 = s2.b, s2.d) :- s s2, NOT s2.b IS NULL.
-- the_view: bag
--   the_view(r.a, s.d) :- r, s, groups, r.b = s.b, groups.outer_1 = r.b, s.d >= groups.avg_1.
