SELECT a + 1 AS b, b * 2 AS twice FROM r;

-- the_view: bag
--   the_view(b = r.a + 1, twice = r.b * 2) :- r.
