SELECT r.a, s.d FROM r CROSS JOIN s WHERE r.a = 1;

-- the_view: bag
--   the_view(r.a, s.d) :- r, s, r.a = 1.
