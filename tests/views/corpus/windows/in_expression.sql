SELECT a, c, a - AVG(a) OVER (PARTITION BY c) AS distance, CASE WHEN MAX(a) OVER (PARTITION BY c) = a THEN 'top' ELSE 'other' END AS how FROM r;

-- windows: per c; window_1 = AVG(a) OVER (PARTITION BY c); window_2 = MAX(a) OVER (PARTITION BY c)
--   windows(r.a, r.c) :- r.
-- the_view: bag
--   the_view(windows.a, windows.c, distance = windows.a - windows.window_1, how = CASE WHEN windows.window_2 = windows.a THEN 'top' ELSE 'other' END) :- windows.
