SELECT x.a, y.a AS other FROM r AS x JOIN r AS y ON x.b = y.a;

-- the_view: bag
--   the_view(x.a, other = y.a) :- r x, r y, x.b = y.a.
