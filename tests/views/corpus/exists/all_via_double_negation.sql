SELECT DISTINCT r.a FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.d > 3 AND NOT EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.d < s.d));

-- domain: set
--   domain(outer_1 = r.a) :- r.
-- domain_2: set
--   domain_2(around.outer_1, outer_2 = s.d) :- domain around, s, s.d > 3.
-- exists: set
--   exists(around_2.outer_1, around_2.outer_2) :- domain_2 around_2, t, t.a = around_2.outer_1, t.d < around_2.outer_2.
-- exists_2: set
--   exists_2(around.outer_1) :- domain around, s, ¬exists(around.outer_1, s.d), s.d > 3.
-- the_view: set
--   the_view(r.a) :- r, ¬exists_2(r.a).
