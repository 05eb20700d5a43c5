SELECT a, b, 'low' AS kind FROM r WHERE a < 2 UNION ALL SELECT a, b, 'high' FROM r WHERE a > 2;

-- the_view: bag
--   the_view(r.a, r.b, kind = 'low') :- r, r.a < 2.
--   the_view(r_2.a, r_2.b, kind = 'high') :- r r_2, r_2.a > 2.
