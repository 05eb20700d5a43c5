SELECT c, COUNT(*) AS n FROM (SELECT DISTINCT a, c FROM r) AS q GROUP BY c;

-- distinct: set
--   distinct(r.a, r.c) :- r.
-- the_view: group by c; n = COUNT(*)
--   the_view(q.c) :- distinct q.
