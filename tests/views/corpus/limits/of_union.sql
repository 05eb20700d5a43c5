SELECT a FROM r UNION ALL SELECT b FROM s ORDER BY a DESC LIMIT 5;

-- union: bag
--   union(r.a) :- r.
--   union(a = s.b) :- s.
-- the_view: in one partition; the first 5 by a DESC
--   the_view(union.a) :- union.
