SELECT r.a, v.n FROM r LEFT JOIN (VALUES (1), (NULL), (3)) AS v(n) ON r.a = v.n;

-- listed: bag
--   listed(n = 1) :- true.
--   listed(n = NULL) :- true.
--   listed(n = 3) :- true.
-- exists: set
--   exists(outer_1 = v.n) :- listed v, NOT v.n IS NULL.
-- the_view: bag
--   the_view(r.a, v.n) :- r, listed v, r.a = v.n.
--   the_view(r.a, n = NULL) :- r, ¬exists(r.a).
