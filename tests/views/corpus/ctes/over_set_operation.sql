WITH q AS (SELECT a, b FROM r WHERE a > 1) SELECT a FROM q UNION ALL SELECT b FROM q;

-- the_view: bag
--   the_view(r.a) :- r, r.a > 1.
--   the_view(a = r.b) :- r, r.a > 1.
