WITH q AS (SELECT b, MAX(d) AS most FROM s GROUP BY b) SELECT x.b, x.most, y.b AS other FROM q AS x LEFT JOIN q AS y ON x.most = y.b;

-- groups: group by b; max_1 = MAX(d)
--   groups(s.b, s.d) :- s.
-- exists: set
--   exists(outer_1 = groups.b) :- groups, NOT groups.b IS NULL.
-- the_view: bag
--   the_view(groups.b, most = groups.max_1, other = groups_2.b) :- groups, groups groups_2, groups.max_1 = groups_2.b.
--   the_view(groups.b, most = groups.max_1, other = CAST(NULL AS INT)) :- groups, ¬exists(groups.max_1).
