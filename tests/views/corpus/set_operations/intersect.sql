SELECT a, c FROM r INTERSECT SELECT b, e FROM s;

-- distinct: set
--   distinct(a = s.b, c = s.e) :- s.
-- the_view: set
--   the_view(r.a, r.c) :- r, distinct, r.a IS NOT DISTINCT FROM distinct.a, r.c IS NOT DISTINCT FROM distinct.c.
