SELECT r.a, r.b, s.d FROM r LEFT JOIN s ON r.b = s.b WHERE s.d IS NULL OR s.d > 2;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, s.d) :- r, s, r.b = s.b.
--   joined(r.a, r.b, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b, joined.d) :- joined, (joined.d IS NULL OR joined.d > 2).
