SELECT a, b FROM r WHERE 1 = 1;

-- the_view: bag
--   the_view(r.a, r.b) :- r, 1 = 1.
