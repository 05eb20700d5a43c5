SELECT DISTINCT a, c FROM r;

-- the_view: set
--   the_view(r.a, r.c) :- r.
