SELECT d, SUM(f) AS total, MIN(f) AS least, MAX(f * 2) AS twice FROM t GROUP BY d;

-- the_view: group by d; total = SUM(f); least = MIN(f); twice = MAX(input_2)
--   the_view(t.d, t.f, input_2 = t.f * 2) :- t.
