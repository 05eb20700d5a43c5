SELECT r.a, r.b, s.d FROM r JOIN s ON r.b = s.b OR r.a = s.d;

-- the_view: bag
--   the_view(r.a, r.b, s.d) :- r, s, (r.b = s.b OR r.a = s.d).
