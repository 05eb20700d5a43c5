SELECT a, d FROM t WHERE g > CURRENT_DATE();

-- the_view: bag
--   the_view(t.a, t.d) :- t, __clock clock, t.g > clock.current_date.
