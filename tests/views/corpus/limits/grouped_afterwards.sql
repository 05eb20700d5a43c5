SELECT c, COUNT(*) AS n FROM (SELECT a, b, c FROM r ORDER BY a, b, c LIMIT 8) AS q GROUP BY c;

-- first: in one partition; the first 8 by a, b, c
--   first(r.a, r.b, r.c) :- r.
-- the_view: group by c; n = COUNT(*)
--   the_view(q.c) :- first q.
