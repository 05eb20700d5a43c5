SELECT r.a, s.b FROM r JOIN s ON r.a < s.b AND r.b >= s.d;

-- the_view: bag
--   the_view(r.a, s.b) :- r, s, r.a < s.b, r.b >= s.d.
