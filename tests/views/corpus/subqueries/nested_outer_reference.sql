SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND EXISTS (SELECT 1 FROM t WHERE t.d = s.d AND t.a = r.a));

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- exists: set
--   exists(outer_1 = t.d, outer_2 = t.a) :- t, NOT t.d IS NULL, NOT t.a IS NULL.
-- exists_2: set
--   exists_2(around.outer_1, around.outer_2) :- domain around, s, exists, s.b = around.outer_1, exists.outer_1 = s.d, exists.outer_2 = around.outer_2.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists_2, exists_2.outer_1 IS NOT DISTINCT FROM r.b, exists_2.outer_2 IS NOT DISTINCT FROM r.a.
