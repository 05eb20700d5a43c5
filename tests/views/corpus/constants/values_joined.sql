SELECT r.a, v.word FROM r JOIN (VALUES (1, 'one'), (2, 'two')) AS v(n, word) ON r.a = v.n;

-- listed: bag
--   listed(n = 1, word = 'one') :- true.
--   listed(n = 2, word = 'two') :- true.
-- the_view: bag
--   the_view(r.a, v.word) :- r, listed v, r.a = v.n.
