SELECT a, c FROM r EXCEPT ALL SELECT b, e FROM s WHERE d > 1;

-- sides: group by a, c; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides(r.a, r.c, in_left = 1, in_right = 0) :- r.
--   sides(a = s.b, c = s.e, in_left = 0, in_right = 1) :- s, s.d > 1.
-- the_view: bag
--   the_view(sides.a, sides.c) × (sides.in_left - sides.in_right) :- sides, sides.in_left > sides.in_right.
