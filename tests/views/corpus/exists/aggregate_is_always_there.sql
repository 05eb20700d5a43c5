SELECT a, b FROM r WHERE EXISTS (SELECT COUNT(*) FROM s WHERE s.b = r.b);

-- the_view: bag
--   the_view(r.a, r.b) :- r.
