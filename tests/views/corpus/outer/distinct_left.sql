SELECT DISTINCT r.a, s.e FROM r LEFT JOIN s ON r.b = s.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.e) :- r, s, r.b = s.b.
--   joined(r.a, e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
-- the_view: set
--   the_view(joined.a, joined.e) :- joined.
