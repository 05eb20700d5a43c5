SELECT r.a, r.b, s.d FROM r LEFT JOIN s ON r.b = s.b AND s.d > 1;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, s.d) :- r, s, r.b = s.b, s.d > 1.
--   the_view(r.a, r.b, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
