SELECT a, c, SUM(a) OVER (PARTITION BY c) AS total, COUNT(*) OVER (PARTITION BY c) AS n FROM r;

-- the_view: per c; total = SUM(a) OVER (PARTITION BY c); n = COUNT(*) OVER (PARTITION BY c)
--   the_view(r.a, r.c) :- r.
