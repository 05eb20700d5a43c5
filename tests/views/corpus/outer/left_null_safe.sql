SELECT r.a, r.b, s.e FROM r LEFT JOIN s ON r.b <=> s.b;

-- domain: set
--   domain(outer_1 = r.b) :- r.
-- exists: set
--   exists(around.outer_1) :- domain around, s, around.outer_1 IS NOT DISTINCT FROM s.b.
-- the_view: bag
--   the_view(r.a, r.b, s.e) :- r, s, r.b IS NOT DISTINCT FROM s.b.
--   the_view(r.a, r.b, e = CAST(NULL AS STRING)) :- r, ¬exists(r.b).
