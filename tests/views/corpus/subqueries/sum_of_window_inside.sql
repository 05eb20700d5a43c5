SELECT a, (SELECT MAX(q.place) FROM (SELECT b, RANK() OVER (PARTITION BY b ORDER BY d) AS place FROM s) AS q WHERE q.b = r.b) AS last_place FROM r;

-- windows: per b; window_1 = RANK() OVER (PARTITION BY b ORDER BY d)
--   windows(s.b, s.d) :- s.
-- groups: group by outer_1; max_1 = MAX(place)
--   groups(outer_1 = windows.b, place = windows.window_1) :- windows, NOT windows.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, last_place = groups.max_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, last_place = NULL) :- r, ¬exists(r.b).
