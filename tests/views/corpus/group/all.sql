SELECT c, a % 2 AS parity, COUNT(*) AS n, MAX(b) AS most FROM r GROUP BY ALL;

-- the_view: group by c, parity; n = COUNT(*); most = MAX(b)
--   the_view(r.c, parity = r.a % 2, r.b) :- r.
