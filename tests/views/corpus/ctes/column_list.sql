WITH q(x, y) AS (SELECT a, SUM(b) FROM r GROUP BY a) SELECT x, y FROM q WHERE y > 1;

-- groups: group by a; sum_1 = SUM(b)
--   groups(r.a, r.b) :- r.
-- the_view: bag
--   the_view(x = groups.a, y = groups.sum_1) :- groups, groups.sum_1 > 1.
