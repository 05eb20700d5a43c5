SELECT DISTINCT a FROM r ORDER BY a DESC LIMIT 2;

-- distinct: set
--   distinct(r.a) :- r.
-- the_view: in one partition; the first 2 by a DESC
--   the_view(distinct.a) :- distinct.
