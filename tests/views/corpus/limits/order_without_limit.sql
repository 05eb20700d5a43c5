SELECT a, b FROM r ORDER BY b, a;

-- the_view: bag
--   the_view(r.a, r.b) :- r.
