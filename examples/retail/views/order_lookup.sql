-- One row per order line with everything the service desk reads out on the phone.
SELECT
  o.o_orderkey,
  l.l_linenumber,
  o.o_orderdate,
  o.o_orderstatus,
  c.c_custkey,
  c.c_name,
  c.c_phone,
  cn.n_name AS customer_nation,
  p.p_partkey,
  p.p_name,
  s.s_suppkey,
  s.s_name,
  l.l_quantity,
  l.l_extendedprice * (1 - l.l_discount) AS line_revenue,
  l.l_shipdate,
  l.l_shipmode
FROM orders AS o
JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
JOIN customer AS c ON c.c_custkey = o.o_custkey
JOIN nation AS cn ON cn.n_nationkey = c.c_nationkey
JOIN part AS p ON p.p_partkey = l.l_partkey
JOIN supplier AS s ON s.s_suppkey = l.l_suppkey
