SELECT a, c FROM r;

-- the_view: bag
--   the_view(r.a, r.c) :- r.
