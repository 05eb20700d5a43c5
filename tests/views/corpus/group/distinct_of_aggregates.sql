SELECT DISTINCT COUNT(*) AS n FROM r GROUP BY c;

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- the_view: set
--   the_view(n = groups.count_1) :- groups.
