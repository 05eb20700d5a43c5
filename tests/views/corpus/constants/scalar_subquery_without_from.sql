SELECT (SELECT MAX(a) FROM r) AS most, (SELECT COUNT(*) FROM s) AS n;

-- groups: one group; max_1 = MAX(a)
--   groups(r.a) :- r.
-- groups_2: one group; count_1 = COUNT(*)
--   groups_2() :- s.
-- the_view: bag
--   the_view(most = groups.max_1, n = groups_2.count_1) :- groups, groups_2.
