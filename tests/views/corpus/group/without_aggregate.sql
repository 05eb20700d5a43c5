SELECT a, c FROM r GROUP BY a, c;

-- the_view: group by a, c
--   the_view(r.a, r.c) :- r.
