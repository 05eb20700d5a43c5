SELECT X.A AS Left_A, x.B FROM r AS x JOIN s AS Y ON X.b = y.B;

-- the_view: bag
--   the_view(Left_A = x.a, B = x.b) :- r x, s Y, x.b = Y.b.
