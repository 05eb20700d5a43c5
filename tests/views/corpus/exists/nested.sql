SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND EXISTS (SELECT 1 FROM t WHERE t.d = s.d AND t.a > 1));

-- exists: set
--   exists(outer_1 = t.d) :- t, t.a > 1, NOT t.d IS NULL.
-- exists_2: set
--   exists_2(outer_1 = s.b) :- s, exists, NOT s.b IS NULL, exists.outer_1 = s.d.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists_2, exists_2.outer_1 = r.b.
