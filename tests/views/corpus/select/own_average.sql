SELECT a, b FROM r WHERE a > (SELECT AVG(a) FROM r);

-- groups: one group; avg_1 = AVG(a)
--   groups(r_2.a) :- r r_2.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups, r.a > groups.avg_1.
