SELECT a, g <= CURRENT_DATE AS past FROM t;

-- the_view: bag
--   the_view(t.a, past = t.g <= clock.current_date) :- t, __clock clock.
