SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS n FROM r;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, n = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, r.b, n = 0) :- r, ¬exists(r.b).
