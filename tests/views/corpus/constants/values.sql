SELECT * FROM VALUES (1, 'one'), (2, 'two'), (2, 'two') AS v(n, word);

-- the_view: bag
--   the_view(n = 1, word = 'one') :- true.
--   the_view(n = 2, word = 'two') :- true.
--   the_view(n = 2, word = 'two') :- true.
