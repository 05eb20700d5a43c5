SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.d = 1) OR a = 0;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d = 1, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, (joined.found OR joined.a = 0).
