SELECT a FROM r UNION SELECT b FROM s UNION ALL SELECT d FROM t;

-- union: set
--   union(r.a) :- r.
--   union(a = s.b) :- s.
-- the_view: bag
--   the_view(union.a) :- union.
--   the_view(a = t.d) :- t.
