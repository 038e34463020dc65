"""One setting at a time: the main table's measures, of the values that params.yaml groups."""

from figures.main_table import rows, texts

__all__ = ["rows", "texts"]
