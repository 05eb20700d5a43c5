SELECT a, b FROM r WHERE EXISTS (SELECT d FROM s WHERE s.b = r.b EXCEPT SELECT d FROM t WHERE t.a = r.a);

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- domain_2: set
--   domain_2(outer_1 = r.b, outer_2 = r.a) :- r.
-- distinct: set
--   distinct(around_2.outer_1, around_2.outer_2, t.d) :- domain_2 around_2, t, t.a = around_2.outer_2.
-- except: set
--   except(around_2.outer_1, around_2.outer_2, s.d) :- domain around_2, s, ¬distinct(around_2.outer_1, around_2.outer_2, s.d), s.b = around_2.outer_1.
-- domain_3: set
--   domain_3(outer_1 = r.b, outer_2 = r.a) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain_3 around, except found, found.outer_1 IS NOT DISTINCT FROM around.outer_1, found.outer_2 IS NOT DISTINCT FROM around.outer_2.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 IS NOT DISTINCT FROM r.b, exists.outer_2 IS NOT DISTINCT FROM r.a.
