WITH q AS (SELECT a FROM r WHERE a IS NOT NULL ORDER BY a LIMIT 3) SELECT x.a, y.a AS other FROM q AS x CROSS JOIN q AS y;

-- q: in one partition; the first 3 by a
--   q(r.a) :- r, NOT r.a IS NULL.
-- the_view: bag
--   the_view(x.a, other = y.a) :- q x, q y.
