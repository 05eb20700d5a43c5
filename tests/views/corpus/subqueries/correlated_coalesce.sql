SELECT a, (SELECT COALESCE(SUM(d), -1) FROM s WHERE s.b = r.b) AS total FROM r;

-- groups: group by outer_1; sum_1 = SUM(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, total = COALESCE(groups.sum_1, -1)) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, total = COALESCE(NULL, -1)) :- r, ¬exists(r.b).
