SELECT a, (SELECT MAX(d) FROM s) AS top FROM r WHERE a < (SELECT MAX(d) FROM s);

-- groups: one group; max_1 = MAX(d)
--   groups(s.d) :- s.
-- groups_2: one group; max_1 = MAX(d)
--   groups_2(s_2.d) :- s s_2.
-- the_view: bag
--   the_view(r.a, top = groups_2.max_1) :- r, groups, groups_2, r.a < groups.max_1.
