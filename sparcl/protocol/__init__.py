"""Class orders and sessions, the protocol's diagnostics, and sweeps from sums."""
