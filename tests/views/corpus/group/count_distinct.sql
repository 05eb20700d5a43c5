SELECT c, COUNT(DISTINCT a) AS kinds, COUNT(a) AS n FROM r GROUP BY c;

-- the_view: group by c; kinds = COUNT(DISTINCT a); n = COUNT(a)
--   the_view(r.c, r.a) :- r.
