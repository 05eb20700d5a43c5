SELECT c, SUM(a), COUNT(*), MAX(b + 1) FROM r GROUP BY c;

-- the_view: group by c; `sum(a)` = SUM(a); `count(1)` = COUNT(*); `max((b + 1))` = MAX(input_2)
--   the_view(r.c, r.a, input_2 = r.b + 1) :- r.
