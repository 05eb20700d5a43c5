SELECT a, b, c, SUM(a) OVER (PARTITION BY c) AS by_c, SUM(a) OVER (PARTITION BY b) AS by_b, COUNT(*) OVER () AS n FROM r;

-- windows: per c; window_1 = SUM(a) OVER (PARTITION BY c)
--   windows(r.a, r.b, r.c) :- r.
-- windows_2: per b; window_1_2 = SUM(a) OVER (PARTITION BY b)
--   windows_2(windows.a, windows.b, windows.c, windows.window_1) :- windows.
-- the_view: in one partition; n = COUNT(*) OVER ()
--   the_view(windows_2.a, windows_2.b, windows_2.c, by_c = windows_2.window_1, by_b = windows_2.window_1_2) :- windows_2.
