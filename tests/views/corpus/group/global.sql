SELECT SUM(a) AS total, COUNT(*) AS rows_seen, MIN(c) AS word, AVG(b) AS mean FROM r;

-- the_view: one group; total = SUM(a); rows_seen = COUNT(*); word = MIN(c); mean = AVG(b)
--   the_view(r.a, r.c, r.b) :- r.
