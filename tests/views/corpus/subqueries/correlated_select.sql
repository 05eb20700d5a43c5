SELECT a, b, (SELECT SUM(d) FROM s WHERE s.b = r.b) AS total FROM r;

-- groups: group by outer_1; sum_1 = SUM(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, total = groups.sum_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, r.b, total = NULL) :- r, ¬exists(r.b).
