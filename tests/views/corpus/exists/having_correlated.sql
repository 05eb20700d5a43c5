SELECT b, COUNT(*) AS n FROM r GROUP BY b HAVING EXISTS (SELECT 1 FROM s WHERE s.b = r.b);

-- groups: group by b; count_1 = COUNT(*)
--   groups(r.b) :- r.
-- exists: set
--   exists(outer_1 = s.b) :- s, NOT s.b IS NULL.
-- the_view: bag
--   the_view(groups.b, n = groups.count_1) :- groups, exists, exists.outer_1 = groups.b.
