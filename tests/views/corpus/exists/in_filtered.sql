SELECT a, b FROM r WHERE b IN (SELECT b FROM s WHERE d > 1) AND a IS NOT NULL;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, NOT r.a IS NULL, exists.outer_1 = r.b.
