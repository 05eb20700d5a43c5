SELECT a FROM r UNION SELECT f FROM t;

-- the_view: set
--   the_view(r.a) :- r.
--   the_view(a = t.f) :- t.
