SELECT UPPER(c) AS loud, CONCAT(c, '-', CAST(a AS STRING)) AS label, LENGTH(c) AS letters, SUBSTRING(c, 1, 1) AS first_letter FROM r;

-- the_view: bag
--   the_view(loud = UPPER(r.c), label = CONCAT(r.c, '-', CAST(r.a AS STRING)), letters = LENGTH(r.c), first_letter = SUBSTRING(r.c, 1, 1)) :- r.
