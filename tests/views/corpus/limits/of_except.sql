SELECT a FROM r EXCEPT SELECT b FROM s WHERE d > 2 ORDER BY 1 LIMIT 2;

-- distinct: set
--   distinct(a = s.b) :- s, s.d > 2.
-- except: set
--   except(r.a) :- r, ¬distinct(r.a).
-- the_view: in one partition; the first 2 by a
--   the_view(except.a) :- except.
