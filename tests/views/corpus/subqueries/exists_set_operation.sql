SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.a UNION ALL SELECT 1 FROM t WHERE t.d = r.a AND t.f > 2);

-- union: bag
--   union(outer_1 = s.b) :- s, NOT s.b IS NULL.
--   union(outer_1 = t.d) :- t, t.f > 2, NOT t.d IS NULL.
-- exists: set
--   exists(found.outer_1) :- union found, NOT found.outer_1 IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.a.
