SELECT a, b FROM r WHERE a NOT IN (SELECT d FROM s WHERE s.b = r.b);

-- exists: set
--   exists(outer_1 = s.d, outer_2 = s.b) :- s, NOT s.b IS NULL, NOT s.b IS NULL, NOT s.d IS NULL.
-- exists_2: set
--   exists_2(outer_1 = s.b) :- s, NOT s.b IS NULL, s.d IS NULL, NOT s.b IS NULL.
-- exists_3: set
--   exists_3(outer_1 = TRUE, outer_2 = s.b) :- s, NOT s.b IS NULL, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a, r.b), ¬exists_2(r.b), ¬exists_3(r.a IS NULL, r.b).
