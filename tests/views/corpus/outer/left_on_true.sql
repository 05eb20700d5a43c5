SELECT r.a, s.d FROM r LEFT JOIN s ON s.d = 1;

-- exists: set
--   exists(found = TRUE) :- s, s.d = 1.
-- the_view: bag
--   the_view(r.a, s.d) :- r, s, s.d = 1.
--   the_view(r.a, d = CAST(NULL AS INT)) :- r, ¬exists(TRUE).
