SELECT c, a, SUM(a) OVER w AS total, MAX(a) OVER w AS most FROM r WINDOW w AS (PARTITION BY c);

-- the_view: per c; total = SUM(a) OVER (PARTITION BY c); most = MAX(a) OVER (PARTITION BY c)
--   the_view(r.c, r.a) :- r.
