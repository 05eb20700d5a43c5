SELECT 1 AS one, 'r' AS origin, CAST(NULL AS INT) AS nothing, a FROM r;

-- the_view: bag
--   the_view(one = 1, origin = 'r', nothing = CAST(NULL AS INT), r.a) :- r.
