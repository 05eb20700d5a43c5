SELECT w, SUM(v) AS total, AVG(v) AS mean, MAX(v) - MIN(v) AS spread FROM p GROUP BY w;

-- groups: group by w; sum_1 = SUM(v); avg_2 = AVG(v); max_3 = MAX(v); min_4 = MIN(v)
--   groups(p.w, p.v) :- p.
-- the_view: bag
--   the_view(groups.w, total = groups.sum_1, mean = groups.avg_2, spread = groups.max_3 - groups.min_4) :- groups.
