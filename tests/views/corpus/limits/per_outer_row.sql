SELECT a, b, (SELECT t.f FROM t WHERE t.a = r.a ORDER BY t.f DESC LIMIT 1) AS dearest FROM r WHERE b IS NOT NULL;

-- first: per outer_1; the first 1 by f DESC
--   first(outer_1 = t.a, t.f) :- t, NOT t.a IS NULL.
-- rows: group by outer_1; value = MAX(value); rows = COUNT(*)
--   rows(first.outer_1, value = first.f) :- first.
-- exists: set
--   exists(rows.outer_1) :- rows.
-- the_view: bag
--   the_view(r.a, r.b, dearest = CASE WHEN rows.rows <= 1 THEN rows.value ELSE RAISE_ERROR('the_view: a scalar subquery has more than one row') END) :- r, rows, NOT r.b IS NULL, rows.outer_1 = r.a.
--   the_view(r.a, r.b, dearest = NULL) :- r, ¬exists(r.a), NOT r.b IS NULL.
