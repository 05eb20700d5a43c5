SELECT a + b AS total, a * 2 - b AS mixed, CASE WHEN a > b THEN 'more' WHEN a = b THEN 'same' ELSE 'other' END AS how FROM r;

-- the_view: bag
--   the_view(total = r.a + r.b, mixed = r.a * 2 - r.b, how = CASE WHEN r.a > r.b THEN 'more' WHEN r.a = r.b THEN 'same' ELSE 'other' END) :- r.
