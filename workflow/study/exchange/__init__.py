"""Orders, features and results in the file forms of other toolboxes, and their logs as numbers measured elsewhere."""
