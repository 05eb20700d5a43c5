SELECT mixed, MIXED + 1 AS Next, `ORDER` FROM `ODD-NAMES`;

-- the_view: bag
--   the_view(mixed = `ODD-NAMES`.MiXed, Next = `ODD-NAMES`.MiXed + 1, ORDER = `ODD-NAMES`.order) :- `odd-names` `ODD-NAMES`.
