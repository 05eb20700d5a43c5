SELECT a, b FROM r AS x WHERE b = (SELECT MAX(y.b) FROM r AS y WHERE y.a = x.a);

-- groups: group by outer_1; max_1 = MAX(b)
--   groups(outer_1 = y.a, y.b) :- r y, NOT y.a IS NULL.
-- the_view: bag
--   the_view(x.a, x.b) :- r x, groups, groups.outer_1 = x.a, x.b = groups.max_1.
