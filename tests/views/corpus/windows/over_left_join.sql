SELECT r.a, s.d, COUNT(s.d) OVER (PARTITION BY r.a) AS known FROM r LEFT JOIN s ON r.b = s.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: per a; known = COUNT(d) OVER (PARTITION BY a)
--   the_view(joined.a, joined.d) :- joined.
