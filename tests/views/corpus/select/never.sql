SELECT a, b FROM r WHERE FALSE;

-- the_view: bag
--   the_view(r.a, r.b) :- r, FALSE.
