SELECT r.a, r.b, s.d FROM r LEFT JOIN s ON r.b = s.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, s.d) :- r, s, r.b = s.b.
--   the_view(r.a, r.b, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
