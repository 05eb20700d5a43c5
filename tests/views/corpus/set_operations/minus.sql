SELECT a FROM r MINUS SELECT d FROM s WHERE b > 0;

-- distinct: set
--   distinct(a = s.d) :- s, s.b > 0.
-- the_view: set
--   the_view(r.a) :- r, ¬distinct(r.a).
