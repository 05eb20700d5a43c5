SELECT c, SUM(DISTINCT a) AS total, COUNT(DISTINCT b) AS kinds FROM r GROUP BY c;

-- the_view: group by c; total = SUM(DISTINCT a); kinds = COUNT(DISTINCT b)
--   the_view(r.c, r.a, r.b) :- r.
