SELECT * FROM r NATURAL JOIN s NATURAL JOIN t;

-- the_view: bag
--   the_view(r.a, s.d, r.b, r.c, s.e, t.f, t.g) :- r, s, t, r.b = s.b, r.a = t.a, s.d = t.d.
