SELECT word, SUM(n) AS total FROM VALUES (1, 'x'), (2, 'y'), (3, 'x') AS v(n, word) GROUP BY word;

-- listed: bag
--   listed(n = 1, word = 'x') :- true.
--   listed(n = 2, word = 'y') :- true.
--   listed(n = 3, word = 'x') :- true.
-- the_view: group by word; total = SUM(n)
--   the_view(v.word, v.n) :- listed v.
