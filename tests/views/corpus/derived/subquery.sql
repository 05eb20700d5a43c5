SELECT q.a, q.twice FROM (SELECT a, b * 2 AS twice FROM r WHERE a > 0) AS q WHERE q.twice > 2;

-- select: bag
--   select(r.a, twice = r.b * 2) :- r, r.a > 0.
-- the_view: bag
--   the_view(q.a, q.twice) :- select q, q.twice > 2.
