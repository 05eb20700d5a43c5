SELECT a, d, f, e FROM (SELECT a, b AS d, c AS e FROM r) AS q JOIN t USING (a, d);

-- the_view: bag
--   the_view(r.a, d = r.b, t.f, e = r.c) :- r, t, r.a = t.a, r.b = t.d.
