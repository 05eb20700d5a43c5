WITH q AS (SELECT b, COUNT(*) AS n FROM s GROUP BY b) SELECT a, (SELECT MAX(n) FROM q WHERE q.b = r.b) AS n FROM r WHERE a > (SELECT MIN(n) FROM q);

-- groups: group by b; count_1 = COUNT(*)
--   groups(s.b) :- s.
-- groups_2: one group; min_1 = MIN(n)
--   groups_2(n = groups.count_1) :- groups.
-- groups_3: group by outer_1; max_1 = MAX(n)
--   groups_3(outer_1 = groups.b, n = groups.count_1) :- groups, NOT groups.b IS NULL.
-- joined: bag
--   joined(r.a, r.b) :- r, groups_2, r.a > groups_2.min_1.
-- exists: set
--   exists(groups_3.outer_1) :- groups_3.
-- the_view: bag
--   the_view(joined.a, n = groups_3.max_1) :- joined, groups_3, groups_3.outer_1 = joined.b.
--   the_view(joined.a, n = NULL) :- joined, ¬exists(joined.b).
