SELECT a, (SELECT MAX(d) FROM s) AS top FROM r;

-- groups: one group; max_1 = MAX(d)
--   groups(s.d) :- s.
-- the_view: bag
--   the_view(r.a, top = groups.max_1) :- r, groups.
