SELECT c, SUM(CASE WHEN a > b THEN 1 ELSE 0 END) AS more, COUNT(CASE WHEN a = b THEN 1 END) AS same FROM r GROUP BY c;

-- the_view: group by c; more = SUM(input_1); same = COUNT(input_2)
--   the_view(r.c, input_1 = CASE WHEN r.a > r.b THEN 1 ELSE 0 END, input_2 = CASE WHEN r.a = r.b THEN 1 END) :- r.
