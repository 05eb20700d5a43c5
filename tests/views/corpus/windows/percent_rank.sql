SELECT c, a, ROUND(PERCENT_RANK() OVER (PARTITION BY c ORDER BY a), 6) AS share, ROUND(CUME_DIST() OVER (PARTITION BY c ORDER BY a), 6) AS reached FROM r;

-- windows: per c; window_1 = PERCENT_RANK() OVER (PARTITION BY c ORDER BY a); window_2 = CUME_DIST() OVER (PARTITION BY c ORDER BY a)
--   windows(r.c, r.a) :- r.
-- the_view: bag
--   the_view(windows.c, windows.a, share = ROUND(windows.window_1, 6), reached = ROUND(windows.window_2, 6)) :- windows.
