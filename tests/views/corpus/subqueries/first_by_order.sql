SELECT a, b, (SELECT s.d FROM s WHERE s.b = r.b ORDER BY s.d DESC LIMIT 1) AS top FROM r;

-- first: per outer_1; the first 1 by d DESC
--   first(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- rows: group by outer_1; value = MAX(value); rows = COUNT(*)
--   rows(first.outer_1, value = first.d) :- first.
-- exists: set
--   exists(rows.outer_1) :- rows.
-- the_view: bag
--   the_view(r.a, r.b, top = CASE WHEN rows.rows <= 1 THEN rows.value ELSE RAISE_ERROR('the_view: a scalar subquery has more than one row') END) :- r, rows, rows.outer_1 = r.b.
--   the_view(r.a, r.b, top = NULL) :- r, ¬exists(r.b).
