SELECT a, c FROM r WHERE c LIKE (SELECT CONCAT('%', MIN(e), '%') FROM s WHERE s.b = r.b);

-- groups: group by outer_1; min_1 = MIN(e)
--   groups(outer_1 = s.b, s.e) :- s, NOT s.b IS NULL.
-- exists: set
--   exists(groups.outer_1) :- groups.
-- joined: bag
--   joined(r.a, r.c, `concat(%, min(e), %)` = CONCAT('%', groups.min_1, '%')) :- r, groups, groups.outer_1 = r.b.
--   joined(r.a, r.c, `concat(%, min(e), %)` = CONCAT('%', NULL, '%')) :- r, ¬exists(r.b).
-- the_view: bag
--   the_view(joined.a, joined.c) :- joined, joined.c LIKE joined.`concat(%, min(e), %)`.
