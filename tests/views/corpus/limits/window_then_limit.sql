SELECT a, b, RANK() OVER (ORDER BY a) AS place FROM r ORDER BY a, b LIMIT 5;

-- windows: in one partition; window_1 = RANK() OVER (ORDER BY a)
--   windows(r.a, r.b) :- r.
-- the_view: in one partition; the first 5 by a, b, place
--   the_view(windows.a, windows.b, place = windows.window_1) :- windows.
