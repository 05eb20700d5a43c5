SELECT c, a, SUM(a) OVER (PARTITION BY c ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM r;

-- windows: per c; window_1 = SUM(a) OVER (PARTITION BY c ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
--   windows(r.c, r.a, r.b) :- r.
-- the_view: bag
--   the_view(windows.c, windows.a, running = windows.window_1) :- windows.
