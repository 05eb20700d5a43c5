SELECT r.a, o.`Group By`, o.`a.b` FROM r LEFT JOIN `odd-names` AS o ON r.a = o.`order`;

-- exists: set
--   exists(outer_1 = o.order) :- `odd-names` o, NOT o.order IS NULL.
-- the_view: bag
--   the_view(r.a, o.`Group By`, o.`a.b`) :- r, `odd-names` o, r.a = o.order.
--   the_view(r.a, `Group By` = CAST(NULL AS STRING), `a.b` = CAST(NULL AS INT)) :- r, ¬exists(r.a).
