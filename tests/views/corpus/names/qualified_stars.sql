SELECT x.*, y.d AS other FROM r AS x JOIN s AS y ON x.b = y.b;

-- the_view: bag
--   the_view(x.a, x.b, x.c, other = y.d) :- r x, s y, x.b = y.b.
