SELECT r.a, s.d FROM r LEFT JOIN s ON r.b = s.b AND s.d IS NULL;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d IS NULL, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, s.d) :- r, s, r.b = s.b, s.d IS NULL.
--   the_view(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
