(SELECT a FROM r EXCEPT SELECT b FROM s) UNION ALL (SELECT b FROM s EXCEPT SELECT a FROM r);

-- distinct: set
--   distinct(a = s.b) :- s.
-- except: set
--   except(r.a) :- r, ¬distinct(r.a).
-- distinct_2: set
--   distinct_2(b = r_2.a) :- r r_2.
-- except_2: set
--   except_2(s_2.b) :- s s_2, ¬distinct_2(s_2.b).
-- the_view: bag
--   the_view(except.a) :- except.
--   the_view(a = except_2.b) :- except_2.
