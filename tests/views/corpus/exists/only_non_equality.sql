SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.d > r.a);

-- domain: set
--   domain(outer_1 = r.a) :- r.
-- exists: set
--   exists(around.outer_1) :- domain around, s, s.d > around.outer_1.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a).
