SELECT * FROM r LEFT JOIN s USING (b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, r.c, s.d, s.e) :- r, s, r.b = s.b.
--   the_view(r.a, r.b, r.c, d = CAST(NULL AS INT), e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
