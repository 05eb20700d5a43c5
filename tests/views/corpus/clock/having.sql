SELECT d, MAX(g) AS last_day FROM t GROUP BY d HAVING MAX(g) > CURRENT_DATE;

-- groups: group by d; max_1 = MAX(g)
--   groups(t.d, t.g) :- t.
-- the_view: bag
--   the_view(groups.d, last_day = groups.max_1) :- groups, __clock clock, groups.max_1 > clock.current_date.
