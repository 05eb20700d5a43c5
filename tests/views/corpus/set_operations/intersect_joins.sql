SELECT r.a, s.d FROM r JOIN s ON r.b = s.b INTERSECT SELECT a, d FROM t;

-- distinct: set
--   distinct(t.a, t.d) :- t.
-- the_view: set
--   the_view(r.a, s.d) :- r, s, distinct, r.b = s.b, r.a IS NOT DISTINCT FROM distinct.a, s.d IS NOT DISTINCT FROM distinct.d.
