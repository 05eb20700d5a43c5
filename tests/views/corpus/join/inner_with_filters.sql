SELECT r.a, s.d FROM r INNER JOIN s ON r.b = s.b AND s.d > 1 WHERE r.a < 4;

-- the_view: bag
--   the_view(r.a, s.d) :- r, s, r.b = s.b, s.d > 1, r.a < 4.
