SELECT r.a, s.b FROM r FULL JOIN s ON r.a > s.b AND r.c = s.e;

-- domain: set
--   domain(outer_1 = r.c, outer_2 = r.a) :- r.
-- exists: set
--   exists(around.outer_1, around.outer_2) :- domain around, s, around.outer_2 > s.b, around.outer_1 = s.e.
-- domain_2: set
--   domain_2(outer_1 = s.e, outer_2 = s.b) :- s.
-- exists_2: set
--   exists_2(around_2.outer_1, around_2.outer_2) :- domain_2 around_2, r, r.a > around_2.outer_2, r.c = around_2.outer_1.
-- the_view: bag
--   the_view(r.a, s.b) :- r, s, r.a > s.b, r.c = s.e.
--   the_view(r.a, b = CAST(NULL AS INT)) :- r, ¬exists(r.c, r.a).
--   the_view(a = CAST(NULL AS INT), s.b) :- s, ¬exists_2(s.e, s.b).
