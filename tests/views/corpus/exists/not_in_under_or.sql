SELECT a, b FROM r WHERE a = 1 OR b NOT IN (SELECT d FROM s WHERE b = 2);

-- exists: set
--   exists(outer_1 = s.d) :- s, s.b = 2, NOT s.d IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
-- domain: set
--   domain(outer_1 = joined.b) :- joined.
-- exists_2: set
--   exists_2(around_3.outer_1) :- domain around_3, s, s.b = 2, (around_3.outer_1 = s.d) IS NULL.
-- joined_2: bag
--   joined_2(joined.a, joined.b, joined.found, found_2 = TRUE) :- joined, exists_2, exists_2.outer_1 IS NOT DISTINCT FROM joined.b.
--   joined_2(joined.a, joined.b, joined.found, found_2 = FALSE) :- joined, ¬exists_2(joined.b).
-- the_view: bag
--   the_view(joined_2.a, joined_2.b) :- joined_2, (joined_2.a = 1 OR NOT (joined_2.found OR joined_2.found_2)).
