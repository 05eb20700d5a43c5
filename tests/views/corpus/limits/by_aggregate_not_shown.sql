SELECT c FROM r GROUP BY c ORDER BY COUNT(*) DESC, c LIMIT 2;

-- groups: group by c; count_1 = COUNT(*)
--   groups(r.c) :- r.
-- first: in one partition; the first 2 by order_1 DESC, c
--   first(groups.c, order_1 = groups.count_1) :- groups.
-- the_view: bag
--   the_view(first.c) :- first.
