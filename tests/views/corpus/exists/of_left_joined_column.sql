SELECT r.a, s.d FROM r LEFT JOIN s ON r.b = s.b WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.d = s.d);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.d) :- joined, ¬exists_2(joined.d).
