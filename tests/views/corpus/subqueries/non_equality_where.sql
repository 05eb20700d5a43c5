SELECT a, b FROM r WHERE b <= (SELECT MAX(d) FROM s WHERE s.b > r.a);

-- domain: set
--   domain(outer_1 = r.a) :- r.
-- groups: group by outer_1; max_1 = MAX(d)
--   groups(around.outer_1, s.d) :- domain around, s, s.b > around.outer_1.
-- the_view: bag
--   the_view(r.a, r.b) :- r, groups, groups.outer_1 IS NOT DISTINCT FROM r.a, r.b <= groups.max_1.
