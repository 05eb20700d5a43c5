SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b) OR NOT EXISTS (SELECT 1 FROM t WHERE t.a = r.a);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(outer_1 = t.a) :- t, NOT t.a IS NULL.
-- joined_2: bag
--   joined_2(joined.a, joined.b, joined.found, found_2 = TRUE) :- joined, exists_2, exists_2.outer_1 = joined.a.
--   joined_2(joined.a, joined.b, joined.found, found_2 = FALSE) :- joined, ¬exists_2(joined.a).
-- the_view: bag
--   the_view(joined_2.a, joined_2.b) :- joined_2, (joined_2.found OR NOT joined_2.found_2).
