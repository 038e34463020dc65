"""From run records to what is reported."""
