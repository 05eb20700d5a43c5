SELECT EXISTS (SELECT 1 FROM r WHERE a = 1) AS found;

-- exists: set
--   exists(found = TRUE) :- r, r.a = 1.
-- the_view: bag
--   the_view(found = TRUE) :- exists.
--   the_view(found = FALSE) :- ¬exists(TRUE).
