SELECT d, g, COUNT(CASE WHEN g <= CURRENT_DATE THEN 1 END) OVER (PARTITION BY d) AS past FROM t;

-- windows: per d; window_1 = COUNT(CASE WHEN g <= moment THEN 1 END) OVER (PARTITION BY d)
--   windows(t.d, t.g, moment = clock.current_date) :- t, __clock clock.
-- the_view: bag
--   the_view(windows.d, windows.g, past = windows.window_1) :- windows.
