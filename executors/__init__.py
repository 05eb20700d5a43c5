"""How a view is kept: algorithms and strategies carried out on Spark."""
