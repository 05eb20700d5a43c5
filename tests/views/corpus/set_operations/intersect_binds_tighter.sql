SELECT a FROM r UNION ALL SELECT b FROM s INTERSECT SELECT d FROM t;

-- distinct: set
--   distinct(b = t.d) :- t.
-- intersect: set
--   intersect(s.b) :- s, distinct, s.b IS NOT DISTINCT FROM distinct.b.
-- the_view: bag
--   the_view(r.a) :- r.
--   the_view(a = intersect.b) :- intersect.
