SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b <=> r.b AND s.d > 2);

-- domain: set
--   domain(outer_1 = r.b) :- r.
-- exists: set
--   exists(around.outer_1) :- domain around, s, s.b IS NOT DISTINCT FROM around.outer_1, s.d > 2.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b).
