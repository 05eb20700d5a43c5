SELECT r.a, s.b FROM r LEFT JOIN s ON r.a < s.b AND s.d > r.b;

-- domain: set
--   domain(outer_1 = r.a, outer_2 = r.b) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain around, s, around.outer_1 < s.b, s.d > around.outer_2.
-- the_view: bag
--   the_view(r.a, s.b) :- r, s, r.a < s.b, s.d > r.b.
--   the_view(r.a, b = CAST(NULL AS INT)) :- r, ¬exists(r.a, r.b).
