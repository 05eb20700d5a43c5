SELECT r.a, t.d FROM r JOIN t ON r.a + 1 = t.a AND r.b = t.d - 1;

-- the_view: bag
--   the_view(r.a, t.d) :- r, t, r.a + 1 = t.a, r.b = t.d - 1.
