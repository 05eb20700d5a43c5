SELECT r.a, s.b, s.d FROM r RIGHT JOIN s ON r.b = s.b AND r.a > 1;

-- exists: set
--   exists(outer_1 = r.b) :- r, r.a > 1, NOT r.b IS NULL.
-- the_view: bag
--   the_view(r.a, s.b, s.d) :- r, s, r.b = s.b, r.a > 1.
--   the_view(a = CAST(NULL AS INT), s.b, s.d) :- s, ¬exists(s.b).
