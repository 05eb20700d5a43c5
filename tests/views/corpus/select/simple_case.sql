SELECT CASE a WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE c END AS word, b FROM r;

-- the_view: bag
--   the_view(word = CASE r.a WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE r.c END, r.b) :- r.
