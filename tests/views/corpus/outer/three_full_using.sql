SELECT * FROM r FULL JOIN s USING (b) FULL JOIN (SELECT d AS b, f FROM t) AS q USING (b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, r.c, b_2 = s.b, s.d, s.e) :- r, s, r.b = s.b.
--   joined(r.a, r.b, r.c, b_2 = CAST(NULL AS INT), d = CAST(NULL AS INT), e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
--   joined(a = CAST(NULL AS INT), b = CAST(NULL AS INT), c = CAST(NULL AS STRING), b_2 = s.b, s.d, s.e) :- s, ¬exists_2(s.b).
-- exists_3: set
--   exists_3(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- exists_4: set
--   exists_4(outer_1 = COALESCE(joined.b, joined.b_2)) :- joined, NOT COALESCE(joined.b, joined.b_2) IS NULL.
-- joined_2: bag
--   joined_2(joined.a, joined.b, joined.c, joined.b_2, joined.d, joined.e, b_3 = t.d, t.f) :- joined, t, COALESCE(joined.b, joined.b_2) = t.d.
--   joined_2(joined.a, joined.b, joined.c, joined.b_2, joined.d, joined.e, b_3 = CAST(NULL AS INT), f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists_3(COALESCE(joined.b, joined.b_2)).
--   joined_2(a = CAST(NULL AS INT), b = CAST(NULL AS INT), c = CAST(NULL AS STRING), b_2 = CAST(NULL AS INT), d = CAST(NULL AS INT), e = CAST(NULL AS STRING), b_3 = t.d, t.f) :- t, ¬exists_4(t.d).
-- the_view: bag
--   the_view(b = COALESCE(COALESCE(joined_2.b, joined_2.b_2), joined_2.b_3), joined_2.a, joined_2.c, joined_2.d, joined_2.e, joined_2.f) :- joined_2.
