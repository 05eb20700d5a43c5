SELECT a, NTILE(2) OVER (ORDER BY a, b, c) AS half, b, c FROM r;

-- the_view: in one partition; half = NTILE(2) OVER (ORDER BY a, b, c)
--   the_view(r.a, r.b, r.c) :- r.
