SELECT c, SUM(a) AS total FROM r GROUP BY c QUALIFY RANK() OVER (ORDER BY SUM(a) DESC) = 1;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- windows: in one partition; window_1 = RANK() OVER (ORDER BY sum_1 DESC)
--   windows(groups.c, groups.sum_1) :- groups.
-- the_view: bag
--   the_view(windows.c, total = windows.sum_1) :- windows, windows.window_1 = 1.
