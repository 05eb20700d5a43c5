SELECT a % 2 AS parity, SUM(b) AS total FROM r GROUP BY a % 2;

-- the_view: group by parity; total = SUM(b)
--   the_view(parity = r.a % 2, r.b) :- r.
