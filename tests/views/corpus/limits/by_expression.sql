SELECT a, b FROM r ORDER BY a + b DESC, a, b LIMIT 4;

-- first: in one partition; the first 4 by order_1 DESC, a, b
--   first(r.a, r.b, order_1 = r.a + r.b) :- r.
-- the_view: bag
--   the_view(first.a, first.b) :- first.
