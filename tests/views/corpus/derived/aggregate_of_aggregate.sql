SELECT n, COUNT(*) AS how_many FROM (SELECT c, COUNT(*) AS n FROM r GROUP BY c) AS q GROUP BY n;

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- the_view: group by n; how_many = COUNT(*)
--   the_view(n = groups.count_1) :- groups.
