SELECT a AS `it``s`, b AS `"quoted"` FROM r;

-- the_view: bag
--   the_view(`it``s` = r.a, `"quoted"` = r.b) :- r.
