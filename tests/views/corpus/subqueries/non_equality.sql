SELECT a, (SELECT COUNT(*) FROM s WHERE s.d < r.a) AS below FROM r;

-- domain: set
--   domain(outer_1 = r.a) :- r.
-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(around.outer_1) :- domain around, s, s.d < around.outer_1.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, below = groups.count_1) :- r, groups, groups.outer_1 IS NOT DISTINCT FROM r.a.
--   the_view(r.a, below = 0) :- r, ¬exists(r.a).
