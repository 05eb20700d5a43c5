SELECT DISTINCT r.a, s.e FROM r JOIN s ON r.b = s.b WHERE s.d IS NOT NULL;

-- the_view: set
--   the_view(r.a, s.e) :- r, s, r.b = s.b, NOT s.d IS NULL.
