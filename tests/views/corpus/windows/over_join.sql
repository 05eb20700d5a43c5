SELECT r.c, s.d, SUM(s.d) OVER (PARTITION BY r.c) AS total FROM r JOIN s ON r.b = s.b;

-- the_view: per c; total = SUM(d) OVER (PARTITION BY c)
--   the_view(r.c, s.d) :- r, s, r.b = s.b.
