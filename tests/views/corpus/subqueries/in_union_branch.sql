SELECT a FROM r WHERE a > (SELECT AVG(d) FROM s WHERE s.b = r.b) UNION ALL SELECT d FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.a = t.a);

-- groups: group by outer_1; avg_1 = AVG(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(outer_1 = r_2.a) :- r r_2, NOT r_2.a IS NULL.
-- the_view: bag
--   the_view(r.a) :- r, groups, groups.outer_1 = r.b, r.a > groups.avg_1.
--   the_view(a = t.d) :- t, exists, exists.outer_1 = t.a.
