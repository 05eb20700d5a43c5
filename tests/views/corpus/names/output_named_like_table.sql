SELECT a AS r, COUNT(*) AS s FROM r GROUP BY a;

-- the_view: group by r; s = COUNT(*)
--   the_view(r = r.a) :- r.
