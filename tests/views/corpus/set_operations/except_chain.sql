SELECT a FROM r EXCEPT SELECT b FROM s WHERE d = 1 EXCEPT SELECT d FROM t WHERE a = 2;

-- distinct: set
--   distinct(a = s.b) :- s, s.d = 1.
-- except: set
--   except(r.a) :- r, ¬distinct(r.a).
-- distinct_2: set
--   distinct_2(a = t.d) :- t, t.a = 2.
-- the_view: set
--   the_view(except.a) :- except, ¬distinct_2(except.a).
