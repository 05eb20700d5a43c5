SELECT a + 1, b * 2, UPPER(c) FROM r;

-- the_view: bag
--   the_view(`(a + 1)` = r.a + 1, `(b * 2)` = r.b * 2, `upper(c)` = UPPER(r.c)) :- r.
