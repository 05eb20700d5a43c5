SELECT a, c FROM r UNION ALL SELECT 9, 'nine';

-- the_view: bag
--   the_view(r.a, r.c) :- r.
--   the_view(a = 9, c = 'nine') :- true.
