SELECT b, a, d, f FROM r JOIN s USING (b) JOIN (SELECT d, f FROM t) AS q USING (d);

-- the_view: bag
--   the_view(r.b, r.a, s.d, t.f) :- r, s, t, r.b = s.b, s.d = t.d.
