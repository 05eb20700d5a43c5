SELECT a, b FROM r WHERE a = 1 OR b NOT IN (SELECT d FROM s WHERE b = 2);

-- exists: set
--   exists(outer_1 = s.d) :- s, s.b = 2, NOT s.d IS NULL.
-- joined: bag
--   joined(r.a, r.b, found = TRUE) :- r, exists, exists.outer_1 = r.b.
--   joined(r.a, r.b, found = FALSE) :- r, ¬exists(r.b).
-- exists_2: set
--   exists_2(found = TRUE) :- s, s.b = 2, s.d IS NULL.
-- any_row: one group; rows = COUNT(*)
--   any_row() :- exists_2.
-- exists_3: set
--   exists_3(found = TRUE) :- s, s.b = 2, TRUE.
-- any_row_2: one group; rows = COUNT(*)
--   any_row_2() :- exists_3.
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, any_row, any_row_2, (joined.a = 1 OR NOT (joined.found OR (any_row.rows > 0) OR (joined.b IS NULL AND (any_row_2.rows > 0)))).
