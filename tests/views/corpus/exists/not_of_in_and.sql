SELECT a, b FROM r WHERE NOT (a IN (SELECT d FROM s WHERE d IS NOT NULL) AND b > 1);

-- exists: set
--   exists(outer_1 = s.d) :- s, NOT s.d IS NULL, NOT s.d IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.a.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.a).
-- domain: set
--   domain(outer_1 = joined.a) :- joined.
-- exists_2: set
--   exists_2(around_3.outer_1) :- domain around_3, s, NOT s.d IS NULL, (around_3.outer_1 = s.d) IS NULL.
-- joined_2: bag
--   joined_2(joined.a, joined.b, joined.found, found_2 = TRUE) :- joined, exists_2, exists_2.outer_1 IS NOT DISTINCT FROM joined.a.
--   joined_2(joined.a, joined.b, joined.found, found_2 = FALSE) :- joined, ¬exists_2(joined.a).
-- the_view: bag
--   the_view(joined_2.a, joined_2.b) :- joined_2, (NOT ((joined_2.found OR joined_2.found_2)) OR NOT (joined_2.b > 1)).
