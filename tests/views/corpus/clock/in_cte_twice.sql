WITH q AS (SELECT a, d FROM t WHERE g <= CURRENT_DATE) SELECT x.a, y.d FROM q AS x JOIN q AS y ON x.a = y.d;

-- q: bag
--   q(t.a, t.d) :- t, __clock clock, t.g <= clock.current_date.
-- the_view: bag
--   the_view(x.a, y.d) :- q x, q y, x.a = y.d.
