SELECT a, b FROM r UNION SELECT b, d FROM s;

-- the_view: set
--   the_view(r.a, r.b) :- r.
--   the_view(a = s.b, b = s.d) :- s.
