SELECT a, SUM((SELECT COUNT(*) FROM s WHERE s.b = r.b)) OVER (PARTITION BY c) AS total FROM r;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.c, `count(1)` = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.c, `count(1)` = 0) :- r, ¬exists(r.b).
-- windows: per c; window_1 = SUM(`count(1)`) OVER (PARTITION BY c)
--   windows(joined.a, joined.c, joined.`count(1)`) :- joined.
-- the_view: bag
--   the_view(windows.a, total = windows.window_1) :- windows.
