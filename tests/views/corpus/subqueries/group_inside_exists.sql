SELECT a, b FROM r WHERE EXISTS (SELECT s.d FROM s WHERE s.b = r.b GROUP BY s.d HAVING COUNT(*) > 1);

-- groups: group by outer_1, d; count_1 = COUNT(*)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups, groups.count_1 > 1, NOT groups.outer_1 IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b.
