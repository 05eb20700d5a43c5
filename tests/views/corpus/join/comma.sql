SELECT r.a, s.d, t.f FROM r, s, t WHERE r.b = s.b AND s.d = t.d;

-- the_view: bag
--   the_view(r.a, s.d, t.f) :- r, s, t, r.b = s.b, s.d = t.d.
