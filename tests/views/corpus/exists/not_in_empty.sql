SELECT a, b FROM r WHERE b NOT IN (SELECT b FROM s WHERE d > 100);

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 100, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(found = TRUE) :- s, s.d > 100, s.b IS NULL.
-- exists_3: set
--   exists_3(outer_1 = TRUE) :- s, s.d > 100.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b), ¬exists_2(TRUE), ¬exists_3(r.b IS NULL).
