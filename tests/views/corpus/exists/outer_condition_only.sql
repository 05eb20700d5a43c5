SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE r.a > 1);

-- exists: set
--   exists(outer_1 = TRUE) :- s.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = (r.a > 1).
