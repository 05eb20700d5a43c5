SELECT CONCAT(c, '!') AS loud, a + 1 AS next, SUM(b) AS total FROM r GROUP BY c, a;

-- groups: group by c, a; sum_1 = SUM(b)
--   groups(r.c, r.a, r.b) :- r.
-- the_view: bag
--   the_view(loud = CONCAT(groups.c, '!'), next = groups.a + 1, total = groups.sum_1) :- groups.
