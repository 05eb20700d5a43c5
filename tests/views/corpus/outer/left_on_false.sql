SELECT r.a, s.d FROM r LEFT JOIN s ON FALSE;

-- exists: set
--   exists(found = TRUE) :- s, FALSE.
-- the_view: bag
--   the_view(r.a, s.d) :- r, s, FALSE.
--   the_view(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(TRUE).
