SELECT a % 3 AS rest, COUNT(*) AS n FROM r GROUP BY rest;

-- the_view: group by rest; n = COUNT(*)
--   the_view(rest = r.a % 3) :- r.
