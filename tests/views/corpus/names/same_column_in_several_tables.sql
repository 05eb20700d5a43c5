SELECT r.a, t.a AS ta, r.b, s.b AS sb, s.d, t.d AS td FROM r JOIN s ON r.b = s.b JOIN t ON t.a = r.a;

-- the_view: bag
--   the_view(r.a, ta = t.a, r.b, sb = s.b, s.d, td = t.d) :- r, s, t, r.b = s.b, t.a = r.a.
