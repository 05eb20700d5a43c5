SELECT c, a + 1 AS next, COUNT(*) AS n FROM r GROUP BY 1, 2;

-- the_view: group by c, next; n = COUNT(*)
--   the_view(r.c, next = r.a + 1) :- r.
