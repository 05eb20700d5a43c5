SELECT a, b FROM r WHERE b IN (SELECT b FROM s UNION SELECT d FROM t);

-- union: set
--   union(s.b) :- s.
--   union(b = t.d) :- t.
-- exists: set
--   exists(outer_1 = listed_in.b) :- union listed_in, NOT listed_in.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b.
