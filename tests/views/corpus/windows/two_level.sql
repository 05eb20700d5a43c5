SELECT c, place, COUNT(*) OVER (PARTITION BY place) AS n FROM (SELECT c, RANK() OVER (ORDER BY a) AS place FROM r) AS q;

-- windows: in one partition; window_1 = RANK() OVER (ORDER BY a)
--   windows(r.c, r.a) :- r.
-- the_view: per place; n = COUNT(*) OVER (PARTITION BY place)
--   the_view(windows.c, place = windows.window_1) :- windows.
