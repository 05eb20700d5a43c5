SELECT c, a, RANK() OVER (PARTITION BY c ORDER BY a) AS place FROM r WHERE a IS NOT NULL QUALIFY place <= 2;

-- windows: per c; window_1 = RANK() OVER (PARTITION BY c ORDER BY a)
--   windows(r.c, r.a) :- r, NOT r.a IS NULL.
-- the_view: bag
--   the_view(windows.c, windows.a, place = windows.window_1) :- windows, windows.window_1 <= 2.
