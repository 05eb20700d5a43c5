SELECT a, b, b IN (SELECT b FROM s WHERE d > 1) AS found FROM r;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   the_view(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
