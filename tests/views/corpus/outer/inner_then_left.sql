SELECT r.a, s.d, t.f FROM r JOIN s ON r.b = s.b LEFT JOIN t ON s.d = t.d AND t.a = r.a;

-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
-- exists: set
--   exists(outer_1 = t.d, outer_2 = t.a) :- t, NOT t.d IS NULL, NOT t.a IS NULL.
-- the_view: bag
--   the_view(joined.a, joined.d, t.f) :- joined, t, joined.d = t.d, t.a = joined.a.
--   the_view(joined.a, joined.d, f = CAST(NULL AS DECIMAL(10, 2))) :- joined, ¬exists(joined.d, joined.a).
