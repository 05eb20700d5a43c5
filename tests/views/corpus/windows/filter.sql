SELECT c, a, COUNT(*) FILTER (WHERE a > 1) OVER (PARTITION BY c) AS large FROM r;

-- the_view: per c; large = COUNT(*) FILTER(WHERE a > 1) OVER (PARTITION BY c)
--   the_view(r.c, r.a) :- r.
