SELECT r.a, s.d, t.f FROM r LEFT JOIN s ON r.b = s.b RIGHT JOIN t ON t.d = s.d;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = joined.d) :- joined, NOT joined.d IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.d, t.f) :- joined, t, t.d = joined.d.
--   the_view(a = CAST(NULL AS INT), d = CAST(NULL AS INT), t.f) :- t, ¬exists_2(t.d).
