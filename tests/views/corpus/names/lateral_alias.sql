SELECT a + 1 AS x, x * 2 AS y, y - 1 AS z FROM r;

-- the_view: bag
--   the_view(x = r.a + 1, y = (r.a + 1) * 2, z = ((r.a + 1) * 2) - 1) :- r.
