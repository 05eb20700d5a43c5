SELECT d, COUNT(*) AS n, SUM(f) AS total FROM t WHERE g BETWEEN DATE '2024-01-01' AND CURRENT_DATE - INTERVAL 1 DAY GROUP BY d;

-- the_view: group by d; n = COUNT(*); total = SUM(f)
--   the_view(t.d, t.f) :- t, __clock clock, t.g BETWEEN CAST('2024-01-01' AS DATE) AND clock.current_date - INTERVAL '1' DAY.
