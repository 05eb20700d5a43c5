SELECT c, SUM(a) AS total, COUNT(*) AS rows_seen, COUNT(b) AS known FROM r GROUP BY c;

-- the_view: group by c; total = SUM(a); rows_seen = COUNT(*); known = COUNT(b)
--   the_view(r.c, r.a, r.b) :- r.
