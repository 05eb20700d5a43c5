SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.d <> r.a);

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain around, s, s.b = around.outer_1, s.d <> around.outer_2.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b, r.a).
