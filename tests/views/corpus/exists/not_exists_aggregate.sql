SELECT a, b FROM r WHERE NOT EXISTS (SELECT MAX(d) FROM s WHERE s.b = r.b) OR a = 1;

-- the_view: bag
--   the_view(r.a, r.b) :- r, (NOT TRUE OR r.a = 1).
