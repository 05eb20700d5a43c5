WITH q AS (SELECT a AS x FROM r UNION SELECT b FROM s) SELECT x, x + 1 AS next FROM q WHERE x < 3;

-- q: set
--   q(x = r.a) :- r.
--   q(x = s.b) :- s.
-- the_view: bag
--   the_view(q.x, next = q.x + 1) :- q, q.x < 3.
