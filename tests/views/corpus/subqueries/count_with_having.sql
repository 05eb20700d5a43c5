SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b = r.b HAVING COUNT(*) > 1) AS many FROM r;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, many = CASE WHEN groups.count_1 > 1 THEN groups.count_1 END) :- r, groups, groups.outer_1 = r.b.
--   the_view(r.a, r.b, many = CASE WHEN 0 > 1 THEN 0 END) :- r, ¬exists(r.b).
