SELECT c, SUM(CASE WHEN a > 100 THEN a END) AS nothing, MAX(NULLIF(a, a)) AS none_either FROM r GROUP BY c;

-- the_view: group by c; nothing = SUM(input_1); none_either = MAX(input_2)
--   the_view(r.c, input_1 = CASE WHEN r.a > 100 THEN r.a END, input_2 = NULLIF(r.a, r.a)) :- r.
