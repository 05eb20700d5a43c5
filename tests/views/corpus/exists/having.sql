SELECT c, COUNT(*) AS n FROM r GROUP BY c HAVING COUNT(*) IN (SELECT d FROM s);

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- exists: set
--   exists(outer_1 = s.d) :- s, NOT s.d IS NULL.
-- the_view: bag
--   the_view(groups.c, n = groups.count_1) :- groups, exists, exists.outer_1 = groups.count_1.
