SELECT a, b FROM r WHERE a = 0 OR b > (SELECT AVG(d) FROM s WHERE s.b = r.b);

-- groups: group by outer_1; avg_1 = AVG(d)
--   groups(outer_1 = s.b, s.d) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.b, `avg(d)` = groups.avg_1) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.b, `avg(d)` = NULL) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.b) :- joined, (joined.a = 0 OR joined.b > joined.`avg(d)`).
