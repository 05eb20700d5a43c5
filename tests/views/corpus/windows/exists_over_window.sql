SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM (SELECT b, RANK() OVER (ORDER BY d) AS place FROM s) AS q WHERE q.b = r.b AND q.place < 4);

-- windows: in one partition; window_1 = RANK() OVER (ORDER BY d)
--   windows(s.b, s.d) :- s.
-- exists: set
--   exists(outer_1 = windows.b) :- windows, windows.window_1 < 4, NOT windows.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b.
