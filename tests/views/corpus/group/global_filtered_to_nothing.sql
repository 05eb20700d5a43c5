SELECT SUM(a) AS total, COUNT(*) AS rows_seen FROM r WHERE a > 100;

-- the_view: one group; total = SUM(a); rows_seen = COUNT(*)
--   the_view(r.a) :- r, r.a > 100.
