SELECT YEAR(CURRENT_DATE) > 2000 AS modern, a FROM r;

-- the_view: bag
--   the_view(modern = YEAR(clock.current_date) > 2000, r.a) :- r, __clock clock.
