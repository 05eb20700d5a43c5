WITH r AS (SELECT a, b FROM r WHERE a > 0) SELECT a, COUNT(*) AS n FROM r GROUP BY a;

-- the_view: group by a; n = COUNT(*)
--   the_view(r.a) :- r, r.a > 0.
