SELECT a, b, COUNT(*) OVER (PARTITION BY a % 2) AS n FROM r;

-- windows: per key_1; window_1 = COUNT(*) OVER (PARTITION BY key_1)
--   windows(r.a, r.b, key_1 = r.a % 2) :- r.
-- the_view: bag
--   the_view(windows.a, windows.b, n = windows.window_1) :- windows.
