SELECT a FROM r ORDER BY a LIMIT 0;

-- the_view: in one partition; the first 0 by a
--   the_view(r.a) :- r.
