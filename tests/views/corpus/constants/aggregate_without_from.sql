SELECT COUNT(*) AS n, SUM(3) AS total;

-- the_view: one group; n = COUNT(*); total = SUM(3)
--   the_view() :- true.
