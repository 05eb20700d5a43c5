SELECT a, b FROM r EXCEPT SELECT a, b FROM r WHERE a > 1;

-- distinct: set
--   distinct(r_2.a, r_2.b) :- r r_2, r_2.a > 1.
-- the_view: set
--   the_view(r.a, r.b) :- r, ¬distinct(r.a, r.b).
