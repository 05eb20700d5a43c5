SELECT a, b FROM r WHERE (a, b) NOT IN (SELECT b, d FROM s WHERE b IS NOT NULL AND d IS NOT NULL);

-- domain: set
--   domain(outer_1 = r.a, outer_2 = r.b) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain around, s, NOT s.b IS NULL, NOT s.d IS NULL, COALESCE((around.outer_1 = s.b AND around.outer_2 = s.d), TRUE).
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a, r.b).
