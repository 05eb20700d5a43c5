SELECT r.a, s.d FROM r LEFT JOIN s ON r.b = s.b WHERE s.d > 1;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.d) :- joined, joined.d > 1.
