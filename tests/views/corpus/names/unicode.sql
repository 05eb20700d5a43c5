SELECT a AS `größe`, c AS `名前` FROM r;

-- the_view: bag
--   the_view(größe = r.a, `名前` = r.c) :- r.
