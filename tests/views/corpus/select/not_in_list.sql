SELECT a, b FROM r WHERE a NOT IN (1, 2) AND NOT (b = 3);

-- the_view: bag
--   the_view(r.a, r.b) :- r, NOT r.a IN (1, 2), NOT (r.b = 3).
