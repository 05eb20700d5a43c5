SELECT c, a, LAG(a) OVER (PARTITION BY c ORDER BY a) AS before, LEAD(a, 2, -1) OVER (PARTITION BY c ORDER BY a) AS after_two FROM r;

-- the_view: per c; before = LAG(a) OVER (PARTITION BY c ORDER BY a); after_two = LEAD(a, 2, -1) OVER (PARTITION BY c ORDER BY a)
--   the_view(r.c, r.a) :- r.
