SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s JOIN t ON s.d = t.d WHERE s.b = r.b AND t.a = r.a);

-- exists: set
--   exists(outer_1 = s.b, outer_2 = t.a) :- s, t, s.d = t.d, NOT s.b IS NULL, NOT t.a IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b, exists.outer_2 = r.a.
