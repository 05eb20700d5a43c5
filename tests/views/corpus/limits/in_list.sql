SELECT a, b FROM r WHERE a IN (SELECT d FROM s WHERE d IS NOT NULL ORDER BY d DESC LIMIT 3);

-- first: in one partition; the first 3 by d DESC
--   first(s.d) :- s, NOT s.d IS NULL.
-- exists: set
--   exists(outer_1 = listed_in.d) :- first listed_in, NOT listed_in.d IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a.
