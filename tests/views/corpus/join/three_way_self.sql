SELECT x.a, y.b, z.c FROM r AS x JOIN r AS y ON x.a = y.b JOIN r AS z ON y.a = z.b;

-- the_view: bag
--   the_view(x.a, y.b, z.c) :- r x, r y, r z, x.a = y.b, y.a = z.b.
