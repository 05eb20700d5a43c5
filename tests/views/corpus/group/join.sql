SELECT r.c, SUM(s.d) AS total, COUNT(*) AS n FROM r JOIN s ON r.b = s.b GROUP BY r.c;

-- the_view: group by c; total = SUM(d); n = COUNT(*)
--   the_view(r.c, s.d) :- r, s, r.b = s.b.
