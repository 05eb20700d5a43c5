"""What is known: the workload file, statistics, update and query history."""
