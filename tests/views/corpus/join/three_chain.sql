SELECT r.c, s.e, t.f, p.v FROM r JOIN s ON r.b = s.b JOIN t ON s.d = t.d JOIN p ON p.k = t.a WHERE t.f > 1;

-- the_view: bag
--   the_view(r.c, s.e, t.f, p.v) :- r, s, t, p, r.b = s.b, s.d = t.d, p.k = t.a, t.f > 1.
