SELECT a, b FROM r WHERE a > (SELECT MIN(d) FROM s WHERE s.b = r.b);

-- groups: group by outer_1; min_1 = MIN(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups, groups.outer_1 = r.b, r.a > groups.min_1.
