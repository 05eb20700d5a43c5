SELECT a, n FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) WHERE n > 1;

-- groups: group by a; count_1 = COUNT(*)
--   groups(r.a) :- r.
-- the_view: bag
--   the_view(groups.a, n = groups.count_1) :- groups, groups.count_1 > 1.
