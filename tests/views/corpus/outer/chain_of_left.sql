SELECT r.a, s.d, t.f FROM r LEFT JOIN s ON r.b = s.b LEFT JOIN t ON s.d = t.d;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.d, t.f) :- joined, t, joined.d = t.d.
--   the_view(joined.a, joined.d, f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists_2(joined.d).
