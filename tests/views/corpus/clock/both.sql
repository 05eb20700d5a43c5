SELECT t.a, p.k FROM t JOIN p ON t.a = p.k WHERE t.g <= CURRENT_DATE AND p.at <= CURRENT_TIMESTAMP;

-- the_view: bag
--   the_view(t.a, p.k) :- t, p, __clock clock, t.a = p.k, t.g <= clock.current_date, p.at <= clock.current_timestamp.
