"""Class orders and sessions, and the diagnostics of the paper's protocol."""
