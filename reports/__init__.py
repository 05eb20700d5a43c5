"""HTML cost reports from saved results."""
