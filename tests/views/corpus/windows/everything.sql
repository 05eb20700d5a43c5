SELECT c, b, COUNT(*) AS n, RANK() OVER (PARTITION BY c ORDER BY COUNT(*) DESC, b) AS place FROM r WHERE a IS NOT NULL GROUP BY c, b HAVING COUNT(*) >= 1 QUALIFY place <= 2 ORDER BY c, place LIMIT 5;

-- groups: group by c, b; count_1 = COUNT(*)
--   groups(r.c, r.b) :- r, NOT r.a IS NULL.
-- windows: per c; window_1 = RANK() OVER (PARTITION BY c ORDER BY count_1 DESC, b)
--   windows(groups.c, groups.b, groups.count_1) :- groups, groups.count_1 >= 1.
-- the_view: in one partition; the first 5 by c, place, b, n
--   the_view(windows.c, windows.b, n = windows.count_1, place = windows.window_1) :- windows, windows.window_1 <= 2.
