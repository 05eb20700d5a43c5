SELECT a, b FROM r WHERE (a, b) IN (SELECT b, d FROM s);

-- exists: set
--   exists(outer_1 = s.b, outer_2 = s.d) :- s, NOT s.b IS NULL, NOT s.d IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a, exists.outer_2 = r.b.
