SELECT a, (SELECT COUNT(*) FROM (SELECT d FROM s WHERE s.b = r.b UNION ALL SELECT t.d FROM t WHERE t.a = r.b) AS u) AS n FROM r;

-- union: bag
--   union(outer_1 = s.b) :- s, NOT s.b IS NULL.
--   union(outer_1 = t.a) :- t, NOT t.a IS NULL.
-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(u.outer_1) :- union u, NOT u.outer_1 IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, n = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, n = 0) :- r, ¬exists(r.b).
