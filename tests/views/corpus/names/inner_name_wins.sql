SELECT a, (SELECT MAX(b) FROM s WHERE b > 1) AS most FROM r;

-- groups: one group; max_1 = MAX(b)
--   groups(s.b) :- s, s.b > 1.
-- the_view: bag
--   the_view(r.a, most = groups.max_1) :- r, groups.
