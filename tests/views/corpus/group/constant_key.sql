SELECT 'all' AS label, COUNT(*) AS n FROM r GROUP BY 'all';

-- the_view: group by label; n = COUNT(*)
--   the_view(label = 'all') :- r.
