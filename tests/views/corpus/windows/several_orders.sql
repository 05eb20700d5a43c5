SELECT c, a, b, SUM(a) OVER (PARTITION BY c ORDER BY b) AS by_b, SUM(b) OVER (PARTITION BY c ORDER BY a DESC) AS by_a FROM r;

-- the_view: per c; by_b = SUM(a) OVER (PARTITION BY c ORDER BY b); by_a = SUM(b) OVER (PARTITION BY c ORDER BY a DESC)
--   the_view(r.c, r.a, r.b) :- r.
