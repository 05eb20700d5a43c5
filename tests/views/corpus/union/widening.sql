SELECT a FROM r UNION ALL SELECT v FROM p;

-- the_view: bag
--   the_view(r.a) :- r.
--   the_view(a = p.v) :- p.
