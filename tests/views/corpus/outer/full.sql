SELECT r.a, r.b, s.b AS sb, s.d FROM r FULL OUTER JOIN s ON r.b = s.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, sb = s.b, s.d) :- r, s, r.b = s.b.
--   the_view(r.a, r.b, sb = CAST(NULL AS INT), d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
--   the_view(a = CAST(NULL AS INT), b = CAST(NULL AS INT), sb = s.b, s.d) :- s, ¬exists_2(s.b).
