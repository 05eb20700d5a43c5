SELECT c, CASE WHEN SUM(a) > 5 THEN 'much' ELSE 'little' END AS how FROM r GROUP BY c HAVING MIN(b) IS NOT NULL OR c = 'x';

-- groups: group by c; sum_1 = SUM(a); min_2 = MIN(b)
--   groups(r.c, r.a, r.b) :- r.
-- the_view: bag
--   the_view(groups.c, how = CASE WHEN groups.sum_1 > 5 THEN 'much' ELSE 'little' END) :- groups, (NOT groups.min_2 IS NULL OR groups.c = 'x').
