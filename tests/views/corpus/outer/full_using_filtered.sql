SELECT b, r.b AS mine, s.b AS theirs FROM r FULL JOIN s USING (b) WHERE b > 1;

-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- exists_2: set
--   exists_2(outer_1 = r.b) :- r, NOT r.b IS NULL.
-- joined: bag
--   joined(r.b, b_2 = s.b) :- r, s, r.b = s.b.
--   joined(r.b, b_2 = CAST(NULL AS INT)) :- r, ¬exists(r.b).
--   joined(b = CAST(NULL AS INT), b_2 = s.b) :- s, ¬exists_2(s.b).
-- the_view: bag
--   the_view(b = COALESCE(joined.b, joined.b_2), mine = joined.b, theirs = joined.b_2) :- joined, COALESCE(joined.b, joined.b_2) > 1.
