SELECT r.a, s.d, t.a AS ta FROM r, s JOIN t ON s.d = t.d WHERE r.b = s.b;

-- the_view: bag
--   the_view(r.a, s.d, ta = t.a) :- r, s, t, s.d = t.d, r.b = s.b.
