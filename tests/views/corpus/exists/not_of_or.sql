SELECT a, b FROM r WHERE NOT (EXISTS (SELECT 1 FROM s WHERE s.b = r.a) OR b > 2);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a), NOT (r.b > 2).
