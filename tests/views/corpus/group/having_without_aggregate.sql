SELECT c, a FROM r GROUP BY c, a HAVING a > 1;

-- groups: group by c, a
--   groups(r.c, r.a) :- r.
-- the_view: bag
--   the_view(groups.c, groups.a) :- groups, groups.a > 1.
