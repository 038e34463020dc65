"""Functions that the workflow calls: settings, paths, plans, provenance, and the frame of every script."""
