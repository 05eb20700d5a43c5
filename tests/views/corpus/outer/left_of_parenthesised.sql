SELECT r.a, s.d, t.f FROM r LEFT JOIN (s JOIN t ON s.d = t.d) ON r.b = s.b;

-- joined: bag
--   joined(s.b, s.d, t.f) :- s, t, s.d = t.d.
-- exists: set
--   exists(outer_1 = joined.b) :- joined, NOT joined.b IS NULL.
-- the_view: bag
--   the_view(r.a, joined.d, joined.f) :- r, joined, r.b = joined.b.
--   the_view(r.a, d = CAST(NULL AS INT), f = CAST(NULL AS DECIMAL(10, 2))) :- r, ¬exists(r.b).
