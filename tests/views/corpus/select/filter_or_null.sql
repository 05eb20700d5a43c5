SELECT a, b, c FROM r WHERE a > 2 OR b IS NULL;

-- the_view: bag
--   the_view(r.a, r.b, r.c) :- r, (r.a > 2 OR r.b IS NULL).
