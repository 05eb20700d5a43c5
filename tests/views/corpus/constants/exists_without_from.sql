SELECT EXISTS (SELECT 1 FROM r WHERE a = 1) AS found;

-- exists: set
--   exists(found = TRUE) :- r, r.a = 1.
-- any_row: one group; rows = COUNT(*)
--   any_row() :- exists.
-- the_view: bag
--   the_view(found = (any_row.rows > 0)) :- any_row.
