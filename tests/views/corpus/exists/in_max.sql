SELECT a, b FROM r WHERE a IN (SELECT MAX(d) FROM s);

-- groups: one group; max_1 = MAX(d)
--   groups(s.d) :- s.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups, r.a = groups.max_1.
