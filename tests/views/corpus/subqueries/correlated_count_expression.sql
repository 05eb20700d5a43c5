SELECT a, (SELECT COUNT(d) * 10 + 1 FROM s WHERE s.b = r.b) AS n FROM r;

-- groups: group by outer_1; count_1 = COUNT(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, n = groups.count_1 * 10 + 1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, n = 0 * 10 + 1) :- r, ¬exists(r.b).
