SELECT r.a, t.f FROM r LEFT ANTI JOIN s ON r.b = s.b LEFT JOIN t ON r.a = t.a;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = t.a) :- t, NOT t.a IS NULL.
-- the_view: bag
--   the_view(joined.a, t.f) :- joined, t, joined.a = t.a.
--   the_view(joined.a, f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists_2(joined.a).
