SELECT * FROM r;

-- the_view: bag
--   the_view(r.a, r.b, r.c) :- r.
