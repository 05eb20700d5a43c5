SELECT c, COUNT(DISTINCT a) FILTER (WHERE b > 0) AS kinds, COUNT(DISTINCT a % 2) AS parities FROM r GROUP BY c;

-- the_view: group by c; kinds = COUNT(DISTINCT a) FILTER(WHERE input_2); parities = COUNT(DISTINCT input_3)
--   the_view(r.c, r.a, input_2 = r.b > 0, input_3 = r.a % 2) :- r.
