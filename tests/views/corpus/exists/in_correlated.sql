SELECT a, b FROM r WHERE a IN (SELECT d FROM s WHERE s.b = r.b);

-- exists: set
--   exists(outer_1 = s.d, outer_2 = s.b) :- s, NOT s.b IS NULL, NOT s.b IS NULL, NOT s.d IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a, exists.outer_2 = r.b.
