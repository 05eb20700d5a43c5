SELECT c, a, RANK() OVER w AS place FROM r WINDOW w AS (PARTITION BY c ORDER BY a DESC);

-- the_view: per c; place = RANK() OVER (PARTITION BY c ORDER BY a DESC)
--   the_view(r.c, r.a) :- r.
