SELECT k, v FROM p WHERE at > NOW();

-- the_view: bag
--   the_view(p.k, p.v) :- p, __clock clock, p.at > clock.current_timestamp.
