SELECT c, a, b, SUM(a) OVER (PARTITION BY c ORDER BY b) AS running FROM r;

-- the_view: per c; running = SUM(a) OVER (PARTITION BY c ORDER BY b)
--   the_view(r.c, r.a, r.b) :- r.
