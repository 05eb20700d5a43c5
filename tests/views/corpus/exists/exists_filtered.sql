SELECT a, b FROM r WHERE a > 0 AND EXISTS (SELECT * FROM s WHERE s.b = r.b AND s.d > 1);

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, r.a > 0, exists.outer_1 = r.b.
