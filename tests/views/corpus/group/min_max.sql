SELECT c, MIN(a) AS least, MAX(b) AS most, MIN(c) AS word FROM r GROUP BY c;

-- the_view: group by c; least = MIN(a); most = MAX(b); word = MIN(c_2)
--   the_view(r.c, r.a, r.b, c_2 = r.c) :- r.
