SELECT n, COUNT(*) AS how_many FROM (SELECT (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS n FROM r) AS q GROUP BY n;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(`count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   joined(`count(1)` = 0) :- r, ¬exists(r.b).
-- the_view: group by n; how_many = COUNT(*)
--   the_view(n = joined.`count(1)`) :- joined.
