SELECT a, c, n FROM (SELECT a, c, COUNT(*) OVER (PARTITION BY c) AS n FROM r) AS q WHERE n > 2 AND a > 0;

-- windows: per c; window_1 = COUNT(*) OVER (PARTITION BY c)
--   windows(r.a, r.c) :- r.
-- the_view: bag
--   the_view(windows.a, windows.c, n = windows.window_1) :- windows, windows.window_1 > 2, windows.a > 0.
