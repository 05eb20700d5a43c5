SELECT a FROM r UNION ALL (SELECT b FROM s UNION SELECT d FROM t);

-- union: set
--   union(s.b) :- s.
--   union(b = t.d) :- t.
-- the_view: bag
--   the_view(r.a) :- r.
--   the_view(a = union.b) :- union.
