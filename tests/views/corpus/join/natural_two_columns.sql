SELECT * FROM (SELECT a, b AS d FROM r) AS q NATURAL JOIN t;

-- the_view: bag
--   the_view(r.a, d = r.b, t.f, t.g) :- r, t, r.a = t.a, r.b = t.d.
