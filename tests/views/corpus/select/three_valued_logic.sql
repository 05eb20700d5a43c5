SELECT a, b, NOT (a > 1 AND b > 1) AS some, (a > 1) IS NULL AS unknown FROM r WHERE NOT (a > 3 OR b > 3);

-- the_view: bag
--   the_view(r.a, r.b, some = NOT (r.a > 1 AND r.b > 1), unknown = (r.a > 1) IS NULL) :- r, NOT (r.a > 3 OR r.b > 3).
