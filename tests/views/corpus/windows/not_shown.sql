SELECT 1 AS one FROM (SELECT COUNT(*) OVER () AS n FROM r) AS x;

-- windows: in one partition; window_1 = COUNT(*) OVER ()
--   windows() :- r.
-- the_view: bag
--   the_view(one = 1) :- windows.
