SELECT a, b FROM r WHERE a > 0 AND c = 'x';

-- the_view: bag
--   the_view(r.a, r.b) :- r, r.a > 0, r.c = 'x'.
