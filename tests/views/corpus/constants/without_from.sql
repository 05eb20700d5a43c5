SELECT 1 AS one, 'two' AS word, 1 + 2 AS three;

-- the_view: bag
--   the_view(one = 1, word = 'two', three = 1 + 2) :- true.
