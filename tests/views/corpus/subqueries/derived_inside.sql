SELECT a, (SELECT MAX(q.n) FROM (SELECT s.d, COUNT(*) AS n FROM s WHERE s.b = r.b GROUP BY s.d) AS q) AS most FROM r;

-- groups: group by outer_1, d; count_1 = COUNT(*)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- groups_2: group by outer_1; max_1 = MAX(n)
--   groups_2(groups.outer_1, n = groups.count_1) :- groups, NOT groups.outer_1 IS NULL.
-- exists: set
--   exists(groups_2.outer_1) :- groups_2.
-- the_view: bag
--   the_view(r.a, most = groups_2.max_1) :- r, groups_2, groups_2.outer_1 = r.b.
--   the_view(r.a, most = NULL) :- r, ¬exists(r.b).
