SELECT b, r.b AS mine, s.b AS theirs, a, d FROM r JOIN s USING (b);

-- the_view: bag
--   the_view(r.b, mine = r.b, theirs = s.b, r.a, s.d) :- r, s, r.b = s.b.
