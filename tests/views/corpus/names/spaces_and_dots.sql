SELECT `a.b`, `x y` AS `final value` FROM `odd-names` WHERE `a.b` IS NOT NULL;

-- the_view: bag
--   the_view(`odd-names`.`a.b`, `final value` = `odd-names`.`x y`) :- `odd-names`, NOT `odd-names`.`a.b` IS NULL.
