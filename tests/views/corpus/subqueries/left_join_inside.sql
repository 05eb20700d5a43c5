SELECT a, (SELECT COUNT(*) FROM s LEFT JOIN t ON s.d = t.d WHERE s.b = r.b) AS n FROM r;

-- exists: set
--   exists(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- joined: bag
--   joined(s.b) :- s, t, s.d = t.d.
--   joined(s.b) :- s, ¬exists(s.d).
-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = joined.b) :- joined, NOT joined.b IS NULL.
-- exists_2: set
--   exists_2(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, n = groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, n = 0) :- r, ¬exists_2(r.b).
