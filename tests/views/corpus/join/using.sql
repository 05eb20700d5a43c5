SELECT * FROM r JOIN s USING (b);

-- the_view: bag
--   the_view(r.b, r.a, r.c, s.d, s.e) :- r, s, r.b = s.b.
