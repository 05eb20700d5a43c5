"""Delta tables on a SparkSession: snapshots, change sets, commits, file pruning."""
