SELECT a, c FROM r WHERE EXISTS (SELECT 1 FROM s WHERE d = a);

-- exists: set
--   exists(outer_1 = s.d) :- s, NOT s.d IS NULL.
-- the_view: bag
--   the_view(r.a, r.c) :- r, exists, exists.outer_1 = r.a.
