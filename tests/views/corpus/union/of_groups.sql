SELECT c AS word, SUM(a) AS total FROM r GROUP BY c UNION SELECT e, SUM(d) FROM s GROUP BY e;

-- groups: group by c; sum_1 = SUM(a)
--   groups(r.c, r.a) :- r.
-- groups_2: group by e; sum_1 = SUM(d)
--   groups_2(s.e, s.d) :- s.
-- the_view: set
--   the_view(word = groups.c, total = groups.sum_1) :- groups.
--   the_view(word = groups_2.e, total = groups_2.sum_1) :- groups_2.
