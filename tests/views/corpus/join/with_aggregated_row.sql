SELECT r.a, q.most FROM r CROSS JOIN (SELECT MAX(d) AS most FROM s) AS q WHERE r.a <= q.most;

-- groups: one group; max_1 = MAX(d)
--   groups(s.d) :- s.
-- the_view: bag
--   the_view(r.a, most = groups.max_1) :- r, groups, r.a <= groups.max_1.
