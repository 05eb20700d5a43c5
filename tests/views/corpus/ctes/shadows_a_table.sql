WITH s AS (SELECT a AS b, b AS d FROM r WHERE a > 0) SELECT s.b, s.d FROM s WHERE s.d IS NOT NULL;

-- the_view: bag
--   the_view(b = r.a, d = r.b) :- r, r.a > 0, NOT r.b IS NULL.
