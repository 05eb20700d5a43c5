SELECT a, b FROM r WHERE a + 1 IN (SELECT d * 1 FROM s);

-- select: bag
--   select(`(d * 1)` = s.d * 1) :- s.
-- exists: set
--   exists(outer_1 = listed_in.`(d * 1)`) :- select listed_in, NOT listed_in.`(d * 1)` IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = (r.a + 1).
