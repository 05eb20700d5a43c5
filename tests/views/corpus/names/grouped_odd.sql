SELECT `Group By`, SUM(`x y`) AS `sum of x y`, COUNT(*) AS `count` FROM `odd-names` GROUP BY `Group By`;

-- the_view: group by `Group By`; `sum of x y` = SUM(`x y`); count = COUNT(*)
--   the_view(`odd-names`.`Group By`, `odd-names`.`x y`) :- `odd-names`.
