SELECT a + b AS total FROM r ORDER BY a, b, c LIMIT 4;

-- first: in one partition; the first 4 by order_1, order_2, order_3, total
--   first(total = r.a + r.b, order_1 = r.a, order_2 = r.b, order_3 = r.c) :- r.
-- the_view: bag
--   the_view(first.total) :- first.
