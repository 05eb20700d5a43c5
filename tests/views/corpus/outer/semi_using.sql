SELECT * FROM r LEFT SEMI JOIN s USING (b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.b, r.a, r.c) :- r, exists, exists.outer_1 = r.b.
