SELECT a FROM r INTERSECT ALL SELECT b FROM s INTERSECT ALL SELECT d FROM t;

-- sides: group by a; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides(r.a, in_left = 1, in_right = 0) :- r.
--   sides(a = s.b, in_left = 0, in_right = 1) :- s.
-- intersect_all: bag
--   intersect_all(sides.a) × (LEAST(sides.in_left, sides.in_right)) :- sides, sides.in_left > 0, sides.in_right > 0.
-- sides_2: group by a; in_left = SUM(in_left); in_right = SUM(in_right)
--   sides_2(intersect_all.a, in_left = 1, in_right = 0) :- intersect_all.
--   sides_2(a = t.d, in_left = 0, in_right = 1) :- t.
-- the_view: bag
--   the_view(sides_2.a) × (LEAST(sides_2.in_left, sides_2.in_right)) :- sides_2, sides_2.in_left > 0, sides_2.in_right > 0.
