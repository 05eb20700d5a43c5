SELECT o.`a.b` + 1 AS `a.b`, o.`x y` FROM `odd-names` AS o;

-- the_view: bag
--   the_view(`a.b` = o.`a.b` + 1, o.`x y`) :- `odd-names` o.
