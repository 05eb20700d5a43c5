SELECT a, b FROM r SEMI JOIN s ON r.a < s.d;

-- domain: set
--   domain(outer_1 = r.a) :- r.
-- exists: set
--   exists(around.outer_1) :- domain around, s, around.outer_1 < s.d.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 IS NOT DISTINCT FROM r.a.
