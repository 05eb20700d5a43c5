SELECT q.*, r.c FROM (SELECT b, MAX(d) AS most FROM s GROUP BY b) AS q JOIN r ON q.b = r.b;

-- groups: group by b; max_1 = MAX(d)
--   groups(s.b, s.d) :- s.
-- the_view: bag
--   the_view(groups.b, most = groups.max_1, r.c) :- groups, r, groups.b = r.b.
