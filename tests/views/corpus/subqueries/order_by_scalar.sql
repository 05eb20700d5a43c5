SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS n FROM r ORDER BY n DESC, a, b LIMIT 5;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `count(1)` = 0) :- r, ¬exists(r.b).
-- the_view: in one partition; the first 5 by n DESC, a, b
--   the_view(joined.a, joined.b, n = joined.`count(1)`) :- joined.
