SELECT a FROM r WHERE b IN (SELECT b FROM s WHERE d IN (SELECT d FROM t WHERE f > (SELECT AVG(CAST(f AS DOUBLE)) FROM t)));

-- groups: one group; avg_1 = AVG(input_1)
--   groups(input_1 = CAST(t_2.f AS DOUBLE)) :- t t_2.
-- exists: set
--   exists(outer_1 = t.d) :- t, groups, t.f > groups.avg_1, NOT t.d IS NULL.
-- exists_2: set
--   exists_2(outer_1 = s.b) :- s, exists, exists.outer_1 = s.d, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a) :- r, exists_2, exists_2.outer_1 = r.b.
