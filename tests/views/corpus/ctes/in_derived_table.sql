SELECT q.a FROM (WITH w AS (SELECT a FROM r WHERE b > 1) SELECT DISTINCT a FROM w) AS q;

-- the_view: set
--   the_view(r.a) :- r, r.b > 1.
