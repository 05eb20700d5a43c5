SELECT a, b, (SELECT SUM(s.d) FROM s WHERE s.b = r.b AND s.d <> r.a) AS total FROM r;

-- domain: set
--   domain(outer_1 = r.b, outer_2 = r.a) :- r.
-- groups: group by outer_1, outer_2; sum_1 = SUM(d)
--   groups(around.outer_1, around.outer_2, s.d) :- domain around, s, s.b = around.outer_1, s.d <> around.outer_2.
-- exists: set
--   exists(groups.outer_1, groups.outer_2) :- groups.
-- the_view: bag
--   the_view(r.a, r.b, total = groups.sum_1) :- r, groups, groups.outer_1 IS NOT DISTINCT FROM r.b, groups.outer_2 IS NOT DISTINCT FROM r.a.
--   the_view(r.a, r.b, total = NULL) :- r, ¬exists(r.b, r.a).
