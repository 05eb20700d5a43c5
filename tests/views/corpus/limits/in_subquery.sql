SELECT q.a, s.d FROM (SELECT a, b FROM r ORDER BY a DESC, b DESC LIMIT 4) AS q JOIN s ON q.b = s.b;

-- first: in one partition; the first 4 by a DESC, b DESC
--   first(r.a, r.b) :- r.
-- the_view: bag
--   the_view(q.a, s.d) :- first q, s, q.b = s.b.
