SELECT x.a AS `from`, y.d AS `where` FROM r AS x JOIN s AS y ON x.b = y.b;

-- the_view: bag
--   the_view(from = x.a, where = y.d) :- r x, s y, x.b = y.b.
