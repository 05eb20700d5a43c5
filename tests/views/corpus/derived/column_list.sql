SELECT q.x, q.y FROM (SELECT a, c FROM r) AS q(x, y) WHERE q.x > 0;

-- the_view: bag
--   the_view(x = r.a, y = r.c) :- r, r.a > 0.
