"""The planner, the Python API and the command line."""
