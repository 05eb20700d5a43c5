SELECT r.a, r.c, s.e FROM r JOIN s ON r.b = s.b;

-- the_view: bag
--   the_view(r.a, r.c, s.e) :- r, s, r.b = s.b.
