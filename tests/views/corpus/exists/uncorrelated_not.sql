SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE d = 100);

-- exists: set
--   exists(found = TRUE) :- s, s.d = 100.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(TRUE).
