SELECT r.a, COUNT(DISTINCT s.d) AS kinds FROM r LEFT JOIN s ON r.b = s.b AND s.e <> 'x' GROUP BY r.a;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.e <> 'x', NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b, s.e <> 'x'.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- the_view: group by a; kinds = COUNT(DISTINCT d)
--   the_view(joined.a, joined.d) :- joined.
