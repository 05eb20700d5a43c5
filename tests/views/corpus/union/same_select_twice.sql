SELECT a, b FROM r UNION ALL SELECT a, b FROM r;

-- the_view: bag
--   the_view(r.a, r.b) :- r.
--   the_view(r_2.a, r_2.b) :- r r_2.
