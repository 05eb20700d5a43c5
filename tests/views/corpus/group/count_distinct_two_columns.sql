SELECT c, COUNT(DISTINCT a, b) AS pairs FROM r GROUP BY c;

-- the_view: group by c; pairs = COUNT(DISTINCT a, b)
--   the_view(r.c, r.a, r.b) :- r.
