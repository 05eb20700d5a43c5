SELECT d, COUNT(CASE WHEN g > CURRENT_DATE THEN 1 END) AS future, COUNT(*) FILTER (WHERE g <= CURRENT_DATE) AS past FROM t GROUP BY d;

-- the_view: group by d; future = COUNT(input_1); past = COUNT(*) FILTER(WHERE input_2)
--   the_view(t.d, input_1 = CASE WHEN t.g > clock.current_date THEN 1 END, input_2 = t.g <= clock.current_date) :- t, __clock clock.
