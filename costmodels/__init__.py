"""Numbers in, costs out: the Yao function and the analytic cost models."""
