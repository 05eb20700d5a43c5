SELECT q.a FROM r AS q WHERE EXISTS (SELECT 1 FROM s AS q WHERE q.d > 1) AND q.a > 0;

-- exists: set
--   exists(found = TRUE) :- s q_2, q_2.d > 1.
-- the_view: bag
--   the_view(q.a) :- r q, exists, q.a > 0.
