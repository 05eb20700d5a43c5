SELECT r.a, s.d FROM r JOIN s ON TRUE WHERE r.b = s.b;

-- the_view: bag
--   the_view(r.a, s.d) :- r, s, TRUE, r.b = s.b.
