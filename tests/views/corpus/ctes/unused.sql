WITH q AS (SELECT a FROM r), unused AS (SELECT b FROM s) SELECT a FROM q WHERE a = 2;

-- the_view: bag
--   the_view(r.a) :- r, r.a = 2.
