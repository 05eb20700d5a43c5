SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.b = r.b GROUP BY s.b) AS n FROM r;

-- groups: group by outer_1, b; count_1 = COUNT(*)
--   groups(outer_1 = s.b, s.b) :- s, NOT s.b IS NULL.
-- rows: group by outer_1; value = MAX(value); rows = COUNT(*)
--   rows(groups.outer_1, value = groups.count_1) :- groups.
-- exists: set
--   exists(rows.outer_1) :- rows.
-- the_view: bag
--   the_view(r.a, r.b, n = CASE WHEN rows.rows <= 1 THEN rows.value ELSE RAISE_ERROR('the_view: a scalar subquery has more than one row') END) :- r, rows, rows.outer_1 = r.b.
--   the_view(r.a, r.b, n = NULL) :- r, ¬exists(r.b).
