SELECT r.a, s.e FROM r JOIN s ON r.b <=> s.b;

-- the_view: bag
--   the_view(r.a, s.e) :- r, s, r.b IS NOT DISTINCT FROM s.b.
