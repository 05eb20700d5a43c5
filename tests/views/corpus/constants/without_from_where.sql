SELECT 1 AS one WHERE 1 > 2;

-- the_view: bag
--   the_view(one = 1) :- 1 > 2.
