SELECT a, YEAR(g) AS y, MONTH(g) AS m, g + INTERVAL 1 DAY > DATE '2024-01-03' AS later FROM t WHERE g >= DATE '2024-01-01';

-- the_view: bag
--   the_view(t.a, y = YEAR(t.g), m = MONTH(t.g), later = t.g + INTERVAL '1' DAY > CAST('2024-01-03' AS DATE)) :- t, t.g >= CAST('2024-01-01' AS DATE).
