SELECT a, b FROM r WHERE NOT (a IN (SELECT d FROM s WHERE d IS NOT NULL) AND b > 1);

-- exists: set
--   exists(outer_1 = s.d) :- s, NOT s.d IS NULL, NOT s.d IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.a.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.a).
-- exists_2: set
--   exists_2(found = TRUE) :- s, NOT s.d IS NULL, s.d IS NULL.
-- any_row: one group; rows = COUNT(*)
--   any_row() :- exists_2.
-- exists_3: set
--   exists_3(found = TRUE) :- s, NOT s.d IS NULL, TRUE.
-- any_row_2: one group; rows = COUNT(*)
--   any_row_2() :- exists_3.
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, any_row, any_row_2, (NOT ((joined.found OR (any_row.rows > 0) OR (joined.a IS NULL AND (any_row_2.rows > 0)))) OR NOT (joined.b > 1)).
