SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.d > 2);

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 2, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b).
