SELECT r.a, q.found FROM r LEFT JOIN (SELECT b, 1 AS found FROM s WHERE d > 1) AS q ON r.b = q.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, found = 1) :- r, s, s.d > 1, r.b = s.b.
--   the_view(r.a, found = CAST(NULL AS INT)) :- r, ¬exists(r.b).
