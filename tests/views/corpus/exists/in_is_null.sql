SELECT a, b FROM r WHERE (a IN (SELECT d FROM s)) IS NULL;

-- exists: set
--   exists(outer_1 = s.d) :- s, NOT s.d IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.a.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.a).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, (joined.found) IS NULL.
