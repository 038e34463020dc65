"""The ablation table: the main table's measures, of the variants that params.yaml groups."""

from figures.main_table import rows, texts

__all__ = ["rows", "texts"]
