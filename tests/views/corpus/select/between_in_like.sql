SELECT a, b, c FROM r WHERE a BETWEEN 1 AND 3 AND b IN (0, 1, 2) AND c LIKE '%x%';

-- the_view: bag
--   the_view(r.a, r.b, r.c) :- r, r.a BETWEEN 1 AND 3, r.b IN (0, 1, 2), r.c LIKE '%x%'.
