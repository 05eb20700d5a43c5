SELECT a, CASE WHEN EXISTS (SELECT 1 FROM s WHERE s.b = r.b) THEN 'yes' ELSE 'no' END AS found FROM r;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, found = FALSE) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, found = CASE WHEN joined.found THEN 'yes' ELSE 'no' END) :- joined.
