"""What the workflow calls."""
