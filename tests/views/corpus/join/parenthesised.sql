SELECT r.a, s.e, t.f FROM r JOIN (s JOIN t ON s.d = t.d) ON r.b = s.b AND r.a = t.a;

-- the_view: bag
--   the_view(r.a, s.e, t.f) :- r, s, t, s.d = t.d, r.b = s.b, r.a = t.a.
