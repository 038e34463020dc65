"""Shorter beside longer streams."""

from figures.orders_table import rows, texts

__all__ = ["rows", "texts"]
