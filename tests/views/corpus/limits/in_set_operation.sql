(SELECT a FROM r ORDER BY a DESC LIMIT 2) UNION ALL (SELECT b FROM s ORDER BY b DESC LIMIT 2);

-- first: in one partition; the first 2 by a DESC
--   first(r.a) :- r.
-- first_2: in one partition; the first 2 by b DESC
--   first_2(s.b) :- s.
-- the_view: bag
--   the_view(first.a) :- first.
--   the_view(a = first_2.b) :- first_2.
