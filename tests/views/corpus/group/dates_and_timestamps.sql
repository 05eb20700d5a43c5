SELECT d, MIN(g) AS first_day, MAX(g) AS last_day FROM t GROUP BY d;

-- the_view: group by d; first_day = MIN(g); last_day = MAX(g)
--   the_view(t.d, t.g) :- t.
