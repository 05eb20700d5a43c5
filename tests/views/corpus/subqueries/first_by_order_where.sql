SELECT a, b FROM r WHERE a = (SELECT s.d FROM s WHERE s.b = r.b ORDER BY s.d LIMIT 1);

-- first: per outer_1; the first 1 by d
--   first(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- rows: group by outer_1; value = MAX(value); rows = COUNT(*)
--   rows(first.outer_1, value = first.d) :- first.
-- the_view: bag
--   the_view(r.a, r.b) :- r, rows, rows.outer_1 = r.b, r.a = CASE WHEN rows.rows <= 1 THEN rows.value ELSE RAISE_ERROR('the_view: a scalar subquery has more than one row') END.
