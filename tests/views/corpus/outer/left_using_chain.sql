SELECT * FROM r LEFT JOIN s USING (b) LEFT JOIN (SELECT d, g FROM t) AS q USING (d);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, r.c, s.d, s.e) :- r, s, r.b = s.b.
--   joined(r.a, r.b, r.c, d = CAST(NULL AS INT), e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.b, joined.c, joined.d, joined.e, t.g) :- joined, t, joined.d = t.d.
--   the_view(joined.a, joined.b, joined.c, joined.d, joined.e, g = CAST(NULL AS DATE)) :- joined, ¬exists_2(joined.d).
