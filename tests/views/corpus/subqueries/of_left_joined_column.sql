SELECT r.a, s.d, (SELECT COUNT(*) FROM t WHERE t.d = s.d) AS n FROM r LEFT JOIN s ON r.b = s.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- joined: bag
--   joined(r.a, s.d) :- r, s, r.b = s.b.
--   joined(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = t.d) :- t, NOT t.d IS NULL.
-- exists_2: set
--   exists_2(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(joined.a, joined.d, n = groups.count_1) :- joined, groups, groups.outer_1 = joined.d.
--   the_view(joined.a, joined.d, n = 0) :- joined, ¬exists_2(joined.d).
