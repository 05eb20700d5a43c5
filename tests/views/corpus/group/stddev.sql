SELECT d, ROUND(STDDEV(a), 6) AS s1, ROUND(STDDEV_POP(a), 6) AS s0, ROUND(VARIANCE(a), 6) AS v1, ROUND(VAR_POP(a), 6) AS v0 FROM t GROUP BY d;

-- groups: group by d; stddev_1 = STDDEV(a); stddevpop_2 = STDDEV_POP(a); variance_3 = VARIANCE(a); variancepop_4 = VAR_POP(a)
--   groups(t.d, t.a) :- t.
-- the_view: bag
--   the_view(groups.d, s1 = ROUND(groups.stddev_1, 6), s0 = ROUND(groups.stddevpop_2, 6), v1 = ROUND(groups.variance_3, 6), v0 = ROUND(groups.variancepop_4, 6)) :- groups.
