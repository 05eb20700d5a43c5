SELECT a, a + (SELECT COUNT(*) FROM s) * 2 AS shifted FROM r;

-- groups: one group; count_1 = COUNT(*)
--   groups() :- s.
-- the_view: bag
--   the_view(r.a, shifted = r.a + groups.count_1 * 2) :- r, groups.
