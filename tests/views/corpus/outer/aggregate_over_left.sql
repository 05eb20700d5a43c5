SELECT r.c, COUNT(s.b) AS matches, COUNT(*) AS n, SUM(s.d) AS total FROM r LEFT JOIN s ON r.b = s.b GROUP BY r.c;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.c, b_2 = s.b, s.d) :- r, s, r.b = s.b.
--   joined(r.c, b_2 = CAST(NULL AS INT), d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: group by c; matches = COUNT(b); n = COUNT(*); total = SUM(d)
--   the_view(joined.c, b = joined.b_2, joined.d) :- joined.
