SELECT a, b FROM r WHERE a IN (SELECT n FROM VALUES (1), (3) AS v(n));

-- listed: bag
--   listed(n = 1) :- true.
--   listed(n = 3) :- true.
-- exists: set
--   exists(outer_1 = v.n) :- listed v, NOT v.n IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a.
