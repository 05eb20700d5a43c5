SELECT a, b FROM r ORDER BY a ASC NULLS LAST, b DESC NULLS FIRST LIMIT 5;

-- the_view: in one partition; the first 5 by a ASC NULLS LAST, b DESC NULLS FIRST
--   the_view(r.a, r.b) :- r.
