SELECT r.a, r.b FROM r LEFT JOIN s ON r.b = s.b WHERE s.b IS NULL;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, b_2 = s.b) :- r, s, r.b = s.b.
--   joined(r.a, r.b, b_2 = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, joined.b_2 IS NULL.
