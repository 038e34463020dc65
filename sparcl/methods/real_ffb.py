"""REAL's feature-fusion buffer on a frozen backbone, an adaptation of this project.

ACIL's map and ridge on the class tokens of several blocks side by side (``features: blocks`` in
params.yaml).  REAL (2024; second version 2025) trains its backbone on the base classes by two
streams and distils it; no code of it is public.  With a frozen backbone what remains of its first
version is ACIL, and of its second this buffer.  The number here says nothing about REAL with its
trained backbone.

Width and ridge as ACIL.
"""

from sparcl.methods.acil_rhl import build

__all__ = ["build"]
