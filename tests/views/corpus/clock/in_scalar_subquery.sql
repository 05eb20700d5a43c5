SELECT a, (SELECT COUNT(*) FROM t WHERE t.a = r.a AND t.g > CURRENT_DATE) AS future FROM r;

-- groups: group by outer_1; count_1 = COUNT(*)
--   groups(outer_1 = t.a) :- t, __clock clock, t.g > clock.current_date, NOT t.a IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, future = groups.count_1) :- r, groups, groups.outer_1 = r.a.
--   the_view(r.a, future = 0) :- r, ¬exists(r.a).
