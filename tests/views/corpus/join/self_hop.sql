SELECT h1.b AS origin, h2.d AS target FROM s AS h1, s AS h2 WHERE h1.d = h2.b;

-- the_view: bag
--   the_view(origin = h1.b, target = h2.d) :- s h1, s h2, h1.d = h2.b.
