WITH q AS (SELECT a, b FROM r WHERE a > 1) SELECT a, COUNT(*) AS n FROM q GROUP BY a;

-- the_view: group by a; n = COUNT(*)
--   the_view(r.a) :- r, r.a > 1.
