SELECT `odd-names`.`order`, R.A FROM `odd-names` JOIN r ON `odd-names`.`MiXed` = R.b;

-- the_view: bag
--   the_view(`odd-names`.order, A = r.a) :- `odd-names`, r, `odd-names`.MiXed = r.b.
