SELECT a, b FROM r EXCEPT SELECT b, d FROM s;

-- distinct: set
--   distinct(a = s.b, b = s.d) :- s.
-- the_view: set
--   the_view(r.a, r.b) :- r, ¬distinct(r.a, r.b).
