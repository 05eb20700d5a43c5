VALUES (1, 'x'), (2, 'y');

-- the_view: bag
--   the_view(col1 = 1, col2 = 'x') :- true.
--   the_view(col1 = 2, col2 = 'y') :- true.
