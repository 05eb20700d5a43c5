SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b.
