SELECT k, v * 0.5 AS half, NOT w AS off, w AND v > 1 AS large FROM p WHERE w OR k = 2;

-- the_view: bag
--   the_view(p.k, half = p.v * 0.5, off = NOT p.w, large = p.w AND p.v > 1) :- p, (p.w OR p.k = 2).
