SELECT r.a, s.d, t.f FROM r LEFT JOIN (s LEFT JOIN t ON s.d = t.d) ON r.b = s.b;

-- exists: set
--   exists(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- joined: bag
--   joined(s.b, s.d, t.f) :- s, t, s.d = t.d.
--   joined(s.b, s.d, f = CAST(NULL AS DECIMAL(10, 2))) :- s, ¬exists(s.d).
-- exists_2: set
--   exists_2(outer_1 = joined.b) :- joined, NOT joined.b IS NULL.
-- the_view: bag
--   the_view(r.a, joined.d, joined.f) :- r, joined, r.b = joined.b.
--   the_view(r.a, d = CAST(NULL AS INT), f = CAST(NULL AS DECIMAL(10, 2))) :- r, ¬exists_2(r.b).
