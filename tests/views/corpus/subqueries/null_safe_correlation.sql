SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b <=> r.b) AS n FROM r;

-- domain: set
--   domain(outer_1 = r.b) :- r.
-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(around.outer_1) :- domain around, s, s.b IS NOT DISTINCT FROM around.outer_1.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, n = groups.count_1) :- r, groups, groups.outer_1 IS NOT DISTINCT FROM r.b.
--   the_view(r.a, r.b, n = 0) :- r, ¬exists(r.b).
