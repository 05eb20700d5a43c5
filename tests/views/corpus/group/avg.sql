SELECT d, AVG(a) AS mean, AVG(CAST(f AS DOUBLE)) AS mean_f FROM t GROUP BY d;

-- the_view: group by d; mean = AVG(a); mean_f = AVG(input_2)
--   the_view(t.d, t.a, input_2 = CAST(t.f AS DOUBLE)) :- t.
