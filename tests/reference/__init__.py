"""Naive float64 restatements of the formulas, with numpy and scipy alone.

They form d x d projectors and inverses on purpose and import nothing from `sparcl`: a mistake of
the library cannot be repeated here by sharing code.
"""
