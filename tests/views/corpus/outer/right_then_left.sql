SELECT r.a, s.d, t.f FROM r RIGHT JOIN s ON r.b = s.b LEFT JOIN t ON t.a = r.a WHERE s.d > 0;

-- exists: set
--   exists(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(a = CAST(NULL AS INT), s.d) :- s, ¬exists(s.b).
-- exists_2: set
--   exists_2(outer_1 = t.a) :- t, NOT t.a IS NULL.
-- joined_2: bag
--   joined_2(joined.a, joined.d, t.f) :- joined, t, t.a = joined.a.
--   joined_2(joined.a, joined.d, f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists_2(joined.a).
-- the_view: bag
--   the_view(joined_2.a, joined_2.d, joined_2.f) :- joined_2, joined_2.d > 0.
