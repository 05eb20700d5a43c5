SELECT DISTINCT (SELECT MIN(s.b) FROM s) AS least FROM r WHERE r.a > 0 ORDER BY least LIMIT 2;

-- groups: one group; min_1 = MIN(b)
--   groups(s.b) :- s.
-- distinct: set
--   distinct(least = groups.min_1) :- r, groups, r.a > 0.
-- the_view: in one partition; the first 2 by least
--   the_view(distinct.least) :- distinct.
