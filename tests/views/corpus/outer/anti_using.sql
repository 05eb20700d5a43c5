SELECT a, b FROM r LEFT ANTI JOIN s USING (b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, ¬exists(r.b).
