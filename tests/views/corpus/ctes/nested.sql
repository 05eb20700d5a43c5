WITH q AS (WITH w AS (SELECT a, b FROM r WHERE b < 4) SELECT a FROM w WHERE a > 0) SELECT a, COUNT(*) AS n FROM q GROUP BY a;

-- the_view: group by a; n = COUNT(*)
--   the_view(r.a) :- r, r.b < 4, r.a > 0.
