SELECT `order`, `Group By` AS `select` FROM `odd-names` WHERE `order` > 0;

-- the_view: bag
--   the_view(`odd-names`.order, select = `odd-names`.`Group By`) :- `odd-names`, `odd-names`.order > 0.
