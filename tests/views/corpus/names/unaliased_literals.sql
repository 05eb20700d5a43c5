SELECT 1, 'x', a FROM r;

-- the_view: bag
--   the_view(`1` = 1, x = 'x', r.a) :- r.
