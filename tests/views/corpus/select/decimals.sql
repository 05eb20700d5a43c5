SELECT a, f * 2 AS twice, f + CAST(0.25 AS DECIMAL(10, 2)) AS more, CAST(FLOOR(f) AS INT) AS whole FROM t WHERE f > 1.5;

-- the_view: bag
--   the_view(t.a, twice = t.f * 2, more = t.f + CAST(0.25 AS DECIMAL(10, 2)), whole = CAST(FLOOR(t.f) AS INT)) :- t, t.f > 1.5.
