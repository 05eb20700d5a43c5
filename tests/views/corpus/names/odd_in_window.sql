SELECT `Group By`, `order`, RANK() OVER (PARTITION BY `Group By` ORDER BY `order`) AS `rank of order` FROM `odd-names`;

-- the_view: per `Group By`; `rank of order` = RANK() OVER (PARTITION BY `Group By` ORDER BY order)
--   the_view(`odd-names`.`Group By`, `odd-names`.order) :- `odd-names`.
