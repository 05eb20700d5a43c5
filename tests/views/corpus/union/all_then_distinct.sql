SELECT a FROM r UNION ALL SELECT b FROM s UNION SELECT d FROM t;

-- union: bag
--   union(r.a) :- r.
--   union(a = s.b) :- s.
-- the_view: set
--   the_view(union.a) :- union.
--   the_view(a = t.d) :- t.
