SELECT a AS outer_1, (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS count_1 FROM r;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(outer_1 = r.a, groups.count_1) :- r, groups, groups.outer_1 = r.b.
--   the_view(outer_1 = r.a, count_1 = 0) :- r, ¬exists(r.b).
