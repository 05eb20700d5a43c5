SELECT a, b FROM r WHERE a >= (SELECT AVG(b) FROM s);

-- groups: one group; avg_1 = AVG(b)
--   groups(s.b) :- s.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups, r.a >= groups.avg_1.
