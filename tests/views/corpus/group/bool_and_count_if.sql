SELECT k % 2 AS parity, BOOL_AND(w) AS every_one, BOOL_OR(w) AS any_one, COUNT_IF(v > 1) AS large FROM p GROUP BY k % 2;

-- the_view: group by parity; every_one = BOOL_AND(w); any_one = BOOL_OR(w); large = COUNT_IF(input_2)
--   the_view(parity = p.k % 2, p.w, input_2 = p.v > 1) :- p.
