SELECT CURRENT_DATE > DATE '2020-01-01' AS late, CURRENT_TIMESTAMP > TIMESTAMP '2020-01-01 00:00:00' AS later;

-- the_view: bag
--   the_view(late = clock.current_date > CAST('2020-01-01' AS DATE), later = clock.current_timestamp > CAST('2020-01-01 00:00:00' AS TIMESTAMP)) :- __clock clock.
