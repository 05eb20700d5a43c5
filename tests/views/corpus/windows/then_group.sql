SELECT place, SUM(a) AS total FROM (SELECT a, RANK() OVER (PARTITION BY c ORDER BY b) AS place FROM r) AS q GROUP BY place;

-- windows: per c; window_1 = RANK() OVER (PARTITION BY c ORDER BY b)
--   windows(r.a, r.c, r.b) :- r.
-- the_view: group by place; total = SUM(a)
--   the_view(place = windows.window_1, windows.a) :- windows.
