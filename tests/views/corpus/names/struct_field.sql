SELECT q.both.x, q.both.y + 1 AS next FROM (SELECT STRUCT(a AS x, b AS y) AS both FROM r) AS q WHERE q.both.x > 1;

-- select: bag
--   select(both = STRUCT(r.a AS x, r.b AS y)) :- r.
-- the_view: bag
--   the_view(x = q.both.x, next = q.both.y + 1) :- select q, q.both.x > 1.
