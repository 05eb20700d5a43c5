SELECT a, b FROM r WHERE a = 1 OR b IN (SELECT b FROM s WHERE d = 2);

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d = 2, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, (joined.a = 1 OR joined.found).
