SELECT a, b FROM r WHERE a NOT IN (1, NULL) OR b = 2;

-- the_view: bag
--   the_view(r.a, r.b) :- r, (NOT r.a IN (1, NULL) OR r.b = 2).
