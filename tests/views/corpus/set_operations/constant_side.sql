SELECT a, c FROM r EXCEPT SELECT 1, 'x';

-- distinct: set
--   distinct(a = 1, c = 'x') :- true.
-- the_view: set
--   the_view(r.a, r.c) :- r, ¬distinct(r.a, r.c).
