SELECT a, CASE WHEN a > (SELECT AVG(d) FROM s) THEN (SELECT MAX(d) FROM s WHERE s.b = r.b) ELSE -1 END AS x FROM r;

-- groups: one group; avg_1 = AVG(d)
--   groups(s_2.d) :- s s_2.
-- groups_2: group by outer_1; max_1 = MAX(d)
--   groups_2(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, r.b, `avg(d)` = groups.avg_1) :- r, groups.
-- exists: set
--   exists(groups_2.outer_1) :- groups_2.
-- joined_2: bag
--   joined_2(joined.a, joined.`avg(d)`, `max(d)` = groups_2.max_1) :- joined, groups_2, groups_2.outer_1 = joined.b.
--   joined_2(joined.a, joined.`avg(d)`, `max(d)` = NULL) :- joined, ¬exists(joined.b).
-- the_view: bag
--   the_view(joined_2.a, x = CASE WHEN joined_2.a > joined_2.`avg(d)` THEN joined_2.`max(d)` ELSE -1 END) :- joined_2.
