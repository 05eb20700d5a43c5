SELECT a, b FROM r UNION ALL SELECT b, d FROM s;

-- the_view: bag
--   the_view(r.a, r.b) :- r.
--   the_view(a = s.b, b = s.d) :- s.
