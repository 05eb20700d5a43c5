SELECT a, b, c, ROW_NUMBER() OVER (PARTITION BY c ORDER BY a, b) AS position FROM r;

-- the_view: per c; position = ROW_NUMBER() OVER (PARTITION BY c ORDER BY a, b)
--   the_view(r.a, r.b, r.c) :- r.
