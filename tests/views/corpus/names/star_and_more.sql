SELECT *, a + b AS total FROM r;

-- the_view: bag
--   the_view(r.a, r.b, r.c, total = r.a + r.b) :- r.
