SELECT COALESCE(a, b, -1) AS first_known, NULLIF(a, b) AS differs, IF(a IS NULL, 'none', c) AS shown, a <=> b AS alike FROM r;

-- the_view: bag
--   the_view(first_known = COALESCE(r.a, r.b, -1), differs = NULLIF(r.a, r.b), shown = IF(r.a IS NULL, 'none', r.c), alike = r.a IS NOT DISTINCT FROM r.b) :- r.
