SELECT a FROM r EXCEPT ALL SELECT b FROM s;

-- sides: group by a; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides(r.a, in_left = 1, in_right = 0) :- r.
--   sides(a = s.b, in_left = 0, in_right = 1) :- s.
-- the_view: bag
--   the_view(sides.a) × (sides.in_left - sides.in_right) :- sides, sides.in_left > sides.in_right.
