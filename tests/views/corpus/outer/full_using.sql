SELECT * FROM r FULL JOIN s USING (b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, r.c, b_2 = s.b, s.d, s.e) :- r, s, r.b = s.b.
--   joined(r.a, r.b, r.c, b_2 = CAST(NULL AS INT), d = CAST(NULL AS INT), e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
--   joined(a = CAST(NULL AS INT), b = CAST(NULL AS INT), c = CAST(NULL AS STRING), b_2 = s.b, s.d, s.e) :- s, ¬exists_2(s.b).
-- the_view: bag
--   the_view(b = COALESCE(joined.b, joined.b_2), joined.a, joined.c, joined.d, joined.e) :- joined.
