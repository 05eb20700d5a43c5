SELECT a.a, a.b FROM r AS a WHERE a.a > 1;

-- the_view: bag
--   the_view(a.a, a.b) :- r a, a.a > 1.
