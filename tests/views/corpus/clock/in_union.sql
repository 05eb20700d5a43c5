SELECT a FROM t WHERE g <= CURRENT_DATE UNION SELECT k FROM p WHERE at > CURRENT_TIMESTAMP;

-- the_view: set
--   the_view(t.a) :- t, __clock clock, t.g <= clock.current_date.
--   the_view(a = p.k) :- p, __clock clock_2, p.at > clock_2.current_timestamp.
