"""The parts of a learner."""

FURTHER: list[str] = []
"""Modules with parts of their own in ``PARTS``, imported when a name is asked for that the catalogue has not."""
