SELECT x.a, x.b, y.c FROM r AS x LEFT JOIN r AS y ON x.b = y.a;

-- exists: set
--   exists(outer_1 = y.a) :- r y, NOT y.a IS NULL.
-- the_view: bag
--   the_view(x.a, x.b, y.c) :- r x, r y, x.b = y.a.
--   the_view(x.a, x.b, c = CAST(NULL AS STRING)) :- r x, ¬exists(x.b).
