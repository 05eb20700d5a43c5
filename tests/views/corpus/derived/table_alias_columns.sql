SELECT q.x, q.z FROM r AS q(x, y, z) WHERE q.y > 1;

-- the_view: bag
--   the_view(x = q.a, z = q.c) :- r q, q.b > 1.
