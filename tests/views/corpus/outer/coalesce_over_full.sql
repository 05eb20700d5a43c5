SELECT COALESCE(r.b, s.b) AS b, COUNT(*) AS n FROM r FULL JOIN s ON r.b = s.b GROUP BY COALESCE(r.b, s.b);

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.b, b_2 = s.b) :- r, s, r.b = s.b.
--   joined(r.b, b_2 = CAST(NULL AS INT)) :- r, ¬exists(r.b).
--   joined(b = CAST(NULL AS INT), b_2 = s.b) :- s, ¬exists_2(s.b).
-- the_view: group by b; n = COUNT(*)
--   the_view(b = COALESCE(joined.b, joined.b_2)) :- joined.
