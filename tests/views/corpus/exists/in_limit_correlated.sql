SELECT a, b FROM r WHERE a IN (SELECT s.d FROM s WHERE s.b = r.b ORDER BY s.d DESC LIMIT 2);

-- first: per outer_1; the first 2 by d DESC
--   first(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(outer_1 = listed_in.d, outer_2 = listed_in.outer_1) :- first listed_in, NOT listed_in.outer_1 IS NULL, NOT listed_in.d IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a, exists.outer_2 = r.b.
