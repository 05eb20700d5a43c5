SELECT a, c, SUM(b) AS total, RANK() OVER (PARTITION BY GROUPING(a) ORDER BY SUM(b)) AS place FROM r GROUP BY ROLLUP (a, c);

-- groups: group by a, c, grouping_set; sum_1 = SUM(b)
--   groups(r.a, r.c, grouping_set = 0, r.b) :- r.
--   groups(r.a, c = CAST(NULL AS STRING), grouping_set = 1, r.b) :- r.
--   groups(a = CAST(NULL AS INT), c = CAST(NULL AS STRING), grouping_set = 2, r.b) :- r.
-- windows: per key_1; window_1 = RANK() OVER (PARTITION BY key_1 ORDER BY sum_1)
--   windows(groups.a, groups.c, groups.sum_1, key_1 = CAST(CASE WHEN groups.grouping_set = 0 THEN 0 WHEN groups.grouping_set = 1 THEN 0 WHEN groups.grouping_set = 2 THEN 1 END AS TINYINT)) :- groups.
-- the_view: bag
--   the_view(windows.a, windows.c, total = windows.sum_1, place = windows.window_1) :- windows.
