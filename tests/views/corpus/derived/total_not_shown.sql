SELECT r.a FROM r CROSS JOIN (SELECT SUM(d) AS total FROM s) AS x;

-- groups: one group; sum_1 = SUM(d)
--   groups(s.d) :- s.
-- the_view: bag
--   the_view(r.a) :- r, groups.
