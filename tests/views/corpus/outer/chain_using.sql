SELECT b, a, d, e FROM r LEFT JOIN s USING (b) WHERE a IS NOT NULL;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, s.d, s.e) :- r, s, r.b = s.b.
--   joined(r.a, r.b, d = CAST(NULL AS INT), e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.b, joined.a, joined.d, joined.e) :- joined, NOT joined.a IS NULL.
