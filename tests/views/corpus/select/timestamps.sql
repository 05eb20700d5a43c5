SELECT k, at FROM p WHERE at >= TIMESTAMP '2024-01-02 06:00:00' AND at < TIMESTAMP '2024-01-04 00:00:00';

-- the_view: bag
--   the_view(p.k, p.at) :- p, p.at >= CAST('2024-01-02 06:00:00' AS TIMESTAMP), p.at < CAST('2024-01-04 00:00:00' AS TIMESTAMP).
