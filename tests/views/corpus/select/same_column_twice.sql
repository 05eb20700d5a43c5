SELECT a, a AS again, b FROM r;

-- the_view: bag
--   the_view(r.a, again = r.a, r.b) :- r.
