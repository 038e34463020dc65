"""A method composed of parts by name: what a configuration can state without code.

For instance SPARCL's core on RanPAC's map:
``{map: {random: {width: 2000}}, core: {spectral: {tau: 0.5}}, ridge: newest}``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sparcl.learners.composed import Composed
from sparcl.parts.catalogue import part
from sparcl.parts.rules import NARROW, HoldOut, Value, named

Asked = str | Mapping[str, Mapping[str, Any]]


def build(
    *,
    transform: Asked = "none",
    map: Asked = "none",
    head: Asked = "ridge",
    core: Asked = "none",
    trust: Asked = "all",
    ridge: Value = 0.1,
    grid: Sequence[float] = NARROW,
    relative: bool = False,
    validation_share: float = 0.2,
    by_class: bool = True,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    transform, map, head, core, trust : a name, or ``{name: {setting: value}}``, of
        :data:`sparcl.parts.catalogue.PARTS`
    ridge : lambda, or the head's shrinkage; several, or a rule (:func:`sparcl.parts.rules.named`) that
        chooses from ``grid``
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share, by_class : which rows of a session a rule holds out
    seed : of maps, cores and hold-outs that are not told another
    dtype : float64 or float32
    """
    return Composed(
        transform=part("transform", transform),
        map=part("map", map, seed=seed),
        head=part("head", head),
        core=part("core", core, seed=seed),
        trust=part("trust", trust),
        rule=named(ridge, grid, HoldOut(validation_share, by_class, seed), relative),
        dtype=dtype,
    )
