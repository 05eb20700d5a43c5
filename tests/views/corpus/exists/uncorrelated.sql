SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE d = 3);

-- exists: set
--   exists(found = TRUE) :- s, s.d = 3.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists.
