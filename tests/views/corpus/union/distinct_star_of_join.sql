SELECT DISTINCT x.* FROM r AS x JOIN r AS y ON x.a = y.b;

-- the_view: set
--   the_view(x.a, x.b, x.c) :- r x, r y, x.a = y.b.
