SELECT a, b, c FROM r ORDER BY ALL LIMIT 4;

-- the_view: in one partition; the first 4 by a, b, c
--   the_view(r.a, r.b, r.c) :- r.
