SELECT r.a, r.b, s.d FROM r LEFT JOIN s ON r.b = s.b OR r.a = s.d;

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain around, s, (around.outer_1 = s.b OR around.outer_2 = s.d).
-- the_view: bag
--   the_view(r.a, r.b, s.d) :- r, s, (r.b = s.b OR r.a = s.d).
--   the_view(r.a, r.b, d = CAST(NULL AS INT)) :- r, ¬exists(r.b, r.a).
