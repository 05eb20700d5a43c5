SELECT c, SUM(a) FILTER (WHERE b > 1) AS some, COUNT(*) FILTER (WHERE b IS NULL) AS unknown FROM r GROUP BY c;

-- the_view: group by c; some = SUM(a) FILTER(WHERE input_2); unknown = COUNT(*) FILTER(WHERE input_3)
--   the_view(r.c, r.a, input_2 = r.b > 1, input_3 = r.b IS NULL) :- r.
