SELECT x FROM (SELECT y AS x FROM (SELECT a + b AS y FROM r) AS inner_one WHERE y > 1) AS outer_one;

-- select: bag
--   select(y = r.a + r.b) :- r.
-- the_view: bag
--   the_view(x = inner_one.y) :- select inner_one, inner_one.y > 1.
