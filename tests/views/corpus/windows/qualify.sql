SELECT c, a, b FROM r QUALIFY DENSE_RANK() OVER (PARTITION BY c ORDER BY a DESC) = 1;

-- windows: per c; window_1 = DENSE_RANK() OVER (PARTITION BY c ORDER BY a DESC)
--   windows(r.c, r.a, r.b) :- r.
-- the_view: bag
--   the_view(windows.c, windows.a, windows.b) :- windows, windows.window_1 = 1.
