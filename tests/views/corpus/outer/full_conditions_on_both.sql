SELECT r.a, r.b, s.d FROM r FULL JOIN s ON r.b = s.b AND r.a > 1 AND s.d > 1;

-- exists: set
--   exists(outer_1 = s.b, outer_2 = TRUE) :- s, s.d > 1, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b, outer_2 = TRUE) :- r, r.a > 1, NOT r.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, s.d) :- r, s, r.b = s.b, r.a > 1, s.d > 1.
--   the_view(r.a, r.b, d = CAST(NULL AS INT)) :- r, ¬exists(r.b, r.a > 1).
--   the_view(a = CAST(NULL AS INT), b = CAST(NULL AS INT), s.d) :- s, ¬exists_2(s.b, s.d > 1).
