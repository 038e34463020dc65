"""Every closed-form peer: the main table with rows of its own."""

from figures.main_table import rows, texts

__all__ = ["rows", "texts"]
