SELECT DISTINCT a % 2 AS parity, c FROM r;

-- the_view: set
--   the_view(parity = r.a % 2, r.c) :- r.
