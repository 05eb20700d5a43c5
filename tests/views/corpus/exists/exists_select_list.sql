SELECT a, b, EXISTS (SELECT 1 FROM s WHERE s.b = r.b) AS found FROM r;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   the_view(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
