SELECT b, a, d FROM r RIGHT JOIN s USING (b);

-- exists: set
--   exists(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- the_view: bag
--   the_view(r.a, s.b, s.d) :- r, s, r.b = s.b.
--   the_view(a = CAST(NULL AS INT), s.b, s.d) :- s, ¬exists(s.b).
