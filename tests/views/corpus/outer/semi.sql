SELECT a, b FROM r LEFT SEMI JOIN s ON r.b = s.b AND s.d > 1;

-- exists: set
--   exists(outer_1 = s.b) :- s, s.d > 1, NOT s.b IS NULL.
-- the_view: bag
--   the_view(r.a, r.b) :- r, exists, exists.outer_1 = r.b.
