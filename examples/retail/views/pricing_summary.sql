-- TPC-H Q1: what was billed, shipped and returned.
SELECT
  l_returnflag,
  l_linestatus,
  SUM(l_quantity) AS sum_quantity,
  SUM(l_extendedprice) AS sum_base_price,
  SUM(l_extendedprice * (1 - l_discount)) AS sum_discounted_price,
  SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  AVG(l_quantity) AS avg_quantity,
  AVG(l_extendedprice) AS avg_price,
  AVG(l_discount) AS avg_discount,
  COUNT(*) AS lines
FROM lineitem
WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus
