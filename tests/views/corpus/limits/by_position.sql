SELECT c, COUNT(*) AS n FROM r GROUP BY c ORDER BY 2 DESC, 1 LIMIT 2;

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- the_view: in one partition; the first 2 by n DESC, c
--   the_view(groups.c, n = groups.count_1) :- groups.
