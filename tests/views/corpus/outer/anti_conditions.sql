SELECT a, b FROM r LEFT ANTI JOIN s ON r.b = s.b AND s.d > r.a AND r.a > 0;

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a > 0, outer_3 = r.a) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2, around.outer_3) :- domain around, s, around.outer_1 = s.b, s.d > around.outer_3, around.outer_2 = TRUE.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b, r.a > 0, r.a).
