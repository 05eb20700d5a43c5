SELECT x.a, q.b, q.d FROM r AS x LEFT JOIN (SELECT COALESCE(r.b, s.b) AS b, s.d FROM r FULL JOIN s ON r.b = s.b) AS q ON x.a = q.b;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.b, b_2 = s.b, s.d) :- r, s, r.b = s.b.
--   joined(r.b, b_2 = CAST(NULL AS INT), d = CAST(NULL AS INT)) :- r, ¬exists(r.b).
--   joined(b = CAST(NULL AS INT), b_2 = s.b, s.d) :- s, ¬exists_2(s.b).
-- select: bag
--   select(b = COALESCE(joined.b, joined.b_2), joined.d) :- joined.
-- exists_3: set
--   exists_3(outer_1 = q.b) :- select q, NOT q.b IS NULL.
-- the_view: bag
--   the_view(x.a, q.b, q.d) :- r x, select q, x.a = q.b.
--   the_view(x.a, b = CAST(NULL AS BIGINT), d = CAST(NULL AS INT)) :- r x, ¬exists_3(x.a).
