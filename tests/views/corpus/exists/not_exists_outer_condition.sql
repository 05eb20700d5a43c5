SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE r.a > 1 AND s.d = 1);

-- exists: set
--   exists(outer_1 = TRUE) :- s, s.d = 1.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a > 1).
