SELECT a, b FROM r WHERE b NOT IN (SELECT b FROM s);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(found = TRUE) :- s, s.b IS NULL.
-- exists_3: set
--   exists_3(outer_1 = TRUE) :- s.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b), ¬exists_2(TRUE), ¬exists_3(r.b IS NULL).
