SELECT q.x, COUNT(*) AS n FROM (SELECT a AS x FROM r EXCEPT ALL SELECT b FROM s WHERE d < 2) AS q GROUP BY q.x;

-- sides: group by x; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides(x = r.a, in_left = 1, in_right = 0) :- r.
--   sides(x = s.b, in_left = 0, in_right = 1) :- s, s.d < 2.
-- except_all: bag
--   except_all(sides.x) × (sides.in_left - sides.in_right) :- sides, sides.in_left > sides.in_right.
-- the_view: group by x; n = COUNT(*)
--   the_view(q.x) :- except_all q.
