SELECT col1, col2 FROM VALUES (1, 2), (3, 4);

-- the_view: bag
--   the_view(col1 = 1, col2 = 2) :- true.
--   the_view(col1 = 3, col2 = 4) :- true.
