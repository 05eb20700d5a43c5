SELECT r.a, t.g FROM r LEFT JOIN t ON r.a = t.a AND t.g <= CURRENT_DATE;

-- exists: set
--   exists(outer_1 = t.a) :- t, __clock clock_2, t.g <= clock_2.current_date, NOT t.a IS NULL.
-- the_view: bag
--   the_view(r.a, t.g) :- r, t, __clock clock, r.a = t.a, t.g <= clock.current_date.
--   the_view(r.a, g = CAST(NULL AS DATE)) :- r, ¬exists(r.a).
