SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.d >= (SELECT COUNT(*) FROM t WHERE t.a = r.a AND t.d = s.d));

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- groups: group by outer_1, outer_2; count_1 = COUNT(*)
--   groups(outer_1 = t.a, outer_2 = t.d) :- t, NOT t.a IS NULL, NOT t.d IS NULL.
-- joined: bag
--   joined(s.d, around.outer_1, around.outer_2) :- domain around, s, s.b = around.outer_1.
-- exists: set
--   exists(groups.outer_1, groups.outer_2) :- groups.
-- joined_2: bag
--   joined_2(joined.d, joined.outer_1, joined.outer_2, `count(1)` = groups.count_1) :- joined, groups, groups.outer_1 = joined.outer_2, groups.outer_2 = joined.d.
--   joined_2(joined.d, joined.outer_1, joined.outer_2, `count(1)` = 0) :- joined, ¬exists(joined.outer_2, joined.d).
-- exists_2: set
--   exists_2(joined_2.outer_1, joined_2.outer_2) :- joined_2, joined_2.d >= joined_2.`count(1)`.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists_2, exists_2.outer_1 IS NOT DISTINCT FROM r.b, exists_2.outer_2 IS NOT DISTINCT FROM r.a.
