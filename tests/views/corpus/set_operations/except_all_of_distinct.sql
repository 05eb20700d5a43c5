SELECT a FROM r EXCEPT ALL SELECT DISTINCT a FROM r;

-- distinct: set
--   distinct(r_2.a) :- r r_2.
-- sides: group by a; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides(r.a, in_left = 1, in_right = 0) :- r.
--   sides(distinct.a, in_left = 0, in_right = 1) :- distinct.
-- the_view: bag
--   the_view(sides.a) × (sides.in_left - sides.in_right) :- sides, sides.in_left > sides.in_right.
