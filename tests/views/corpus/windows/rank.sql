SELECT a, c, RANK() OVER (PARTITION BY c ORDER BY a) AS place, DENSE_RANK() OVER (PARTITION BY c ORDER BY a) AS dense FROM r;

-- the_view: per c; place = RANK() OVER (PARTITION BY c ORDER BY a); dense = DENSE_RANK() OVER (PARTITION BY c ORDER BY a)
--   the_view(r.a, r.c) :- r.
