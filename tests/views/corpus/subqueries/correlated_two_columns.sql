SELECT a, b, (SELECT COUNT(*) FROM t WHERE t.a = r.a AND t.d = r.b) AS n FROM r;

-- groups: group by outer_1, outer_2; count_1 = COUNT(*)
--   groups(outer_1 = t.a, outer_2 = t.d) :- t, NOT t.a IS NULL, NOT t.d IS NULL.
-- exists: set
--   exists(groups.outer_1, groups.outer_2) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, n = groups.count_1) :- r, groups, groups.outer_1 = r.a, groups.outer_2 = r.b.
--   the_view(r.a, r.b, n = 0) :- r, ¬exists(r.a, r.b).
