SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.g > CURRENT_DATE);

-- exists: set
--   exists(outer_1 = t.a) :- t, __clock clock, t.g > clock.current_date, NOT t.a IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.a).
