SELECT r.a, s.d, t.f FROM r FULL JOIN s ON r.b = s.b FULL JOIN t ON t.d = s.d;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
--   joined(a = CAST(NULL AS INT), s.d) :- s, ¬exists_2(s.b).
-- exists_3: set
--   exists_3(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- exists_4: set
--   exists_4(outer_1 = joined.d) :- joined, NOT joined.d IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.d, t.f) :- joined, t, t.d = joined.d.
--   the_view(joined.a, joined.d, f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists_3(joined.d).
--   the_view(a = CAST(NULL AS INT), d = CAST(NULL AS INT), t.f) :- t, ¬exists_4(t.d).
