SELECT a, (SELECT MAX(`x y`) FROM `odd-names` AS o WHERE o.`a.b` = r.a) AS `top x y` FROM r;

-- groups: group by outer_1; max_1 = MAX(`x y`)
--   groups(outer_1 = o.`a.b`, o.`x y`) :- `odd-names` o, NOT o.`a.b` IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- the_view: bag
--   the_view(r.a, `top x y` = groups.max_1) :- r, groups, groups.outer_1 = r.a.
--   the_view(r.a, `top x y` = NULL) :- r, ¬exists(r.a).
