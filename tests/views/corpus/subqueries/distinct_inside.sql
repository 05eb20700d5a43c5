SELECT a, (SELECT COUNT(DISTINCT d) FROM s WHERE s.b = r.b) AS kinds FROM r;

-- groups: group by outer_1; count_1 = COUNT(DISTINCT d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, kinds = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, kinds = 0) :- r, ¬exists(r.b).
