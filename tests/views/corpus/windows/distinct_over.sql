SELECT DISTINCT c, COUNT(*) OVER (PARTITION BY c) AS n FROM r;

-- windows: per c; window_1 = COUNT(*) OVER (PARTITION BY c)
--   windows(r.c) :- r.
-- the_view: set
--   the_view(windows.c, n = windows.window_1) :- windows.
