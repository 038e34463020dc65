"""Methods composed of parts: a row of the table, or parts by name, which a configuration can state without code.

For instance SPARCL's core on RanPAC's map:
``{map: {random: {width: 2000}}, core: {spectral: {tau: 0.5}}, ridge: newest}``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparcl.base.checks import check_choice, check_fraction, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.learners.composed import Composed
from sparcl.parts.catalogue import Asked, part
from sparcl.parts.maps.residual import KINDS
from sparcl.parts.rules import NARROW, Given, HoldOut, Value, named

Parts = dict[str, Asked]
Settings = dict[str, Any]


def build(
    *,
    transform: Asked = "none",
    map: Asked = "none",
    head: Asked = "ridge",
    core: Asked = "none",
    row_weights: Asked = "all",
    ridge: Value = 0.1,
    ridges: Sequence[float] = NARROW,
    relative: bool = False,
    validation_share: float = 0.2,
    by_class: bool = True,
    seed: int = 0,
    dtype: str = "float64",
    columns: str = "plain",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    transform, map, head, core, row_weights : a name, or ``{name: {setting: value}}``, of
        :data:`sparcl.parts.catalogue.PARTS`
    ridge : lambda, or the head's shrinkage; several, or a rule (:func:`sparcl.parts.rules.named`) that
        chooses from ``ridges``
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share, by_class : which rows of a session a rule holds out
    seed : of maps, cores and hold-outs that are not told another
    dtype : float64 or float32
    columns : ``unit`` scores rows by each class's weights over their norm, for a ridge
    """
    parts = {"transform": transform, "map": map, "head": head, "core": core}
    parts |= {"row_weights": row_weights}
    made = {kind: part(kind, asked, seed=seed) for kind, asked in parts.items()}
    holdout = HoldOut(validation_share, by_class, seed)
    rule = named(ridge, ridges, holdout, relative)
    return Composed(**made, rule=rule, dtype=dtype, columns=columns)


def from_row(name: str, row: Mapping[str, Any], given: Mapping[str, Any]) -> Composed:
    """Build the learner of a row of the table, with the settings that are given in place of its defaults."""
    parts: Parts = dict(row["parts"])
    settings: Settings = row["settings"] | row.get("fixed", {}) | given
    if name in TURNS:
        TURNS[name](parts, settings)
    made = {kind: part(kind, asked, **settings) for kind, asked in parts.items()}
    holdout = HoldOut(
        settings.get("validation_share", 0.2),
        settings.get("by_class", False),
        settings.get("seed", 0),
    )
    rule = settings.get("rule") or named(
        settings.get("ridge", 1.0),
        settings.get("ridges", NARROW),
        holdout,
        settings.get("relative", False),
        settings.get("folds", 4),
    )
    working = {k: settings[k] for k in ("dtype", "columns") if k in settings}
    return Composed(**made, rule=rule, **working)


def _passes(parts: Parts, settings: Settings) -> None:
    """Divide a ridge that is a number by the times that each batch is fed."""
    if isinstance(settings["ridge"], (int, float)):
        ridge = check_positive("ridge", settings["ridge"])
        settings["ridge"] = ridge / check_int("passes", settings["passes"], least=1)


def _kernel_discriminant(parts: Parts, settings: Settings) -> None:
    """Name the kernel's width as the map does, and take the ridge in the one unit or the other."""
    sigma = settings["sigma"]
    settings["gamma"] = sigma if sigma == "median" else check_positive("sigma", sigma)
    if not _in_samples(parts, settings):
        parts["head"], ridge = "ridged-scatter", settings["ridge"]
        settings["rule"] = Given((0.0 if ridge == 0 else check_positive("ridge", ridge),))


def _discriminant(parts: Parts, settings: Settings) -> None:
    """Take the shrinkage as the ridge, unless there is one in units of a sample."""
    if not _in_samples(parts, settings):
        parts["head"] = "shrunk-covariance"
        hint = "It is the weight of the identity beside the covariance."
        settings["rule"] = Given((check_fraction("shrinkage", settings["shrinkage"], hint),))


def _in_samples(parts: Parts, settings: Settings) -> bool:
    """Take a ridge in mean squared distances of a sample to its class mean; return whether there is one."""
    if settings["ridge_relative"] is None:
        return False
    parts["head"] = {"ridged-scatter": {"per": "sample"}}
    settings["ridge"] = settings["ridge_relative"]
    return True


def _embedding(parts: Parts, settings: Settings) -> None:
    """Take the map that the embedding names."""
    rbf = check_choice("embedding", settings["embedding"], ("rbf", "relu")) == "rbf"
    parts["map"] = {"fourier": {"gamma": "variance"}} if rbf else "random"


def _expansion(parts: Parts, settings: Settings) -> None:
    """Take m as random directions of the core, or as outputs of a map of the residual."""
    expansion, m = settings.get("expansion", "linear" if settings["m"] else "none"), settings["m"]
    check_choice("expansion", expansion, ("none", "linear", *KINDS))
    check_int("m", m, least=0)
    if (expansion == "none") != (m == 0):
        raise InputError(
            f"expansion = {expansion!r} with m = {m}: an expansion has a width m of at least 1, and "
            "without one m is 0."
        )
    settings["directions"] = m if expansion == "linear" else 0
    if expansion in KINDS:
        parts["map"], settings["width"] = "residual", m


# What a row's settings say in other words than its parts do.
TURNS: dict[str, Callable[[Parts, Settings], None]] = {
    "gacl": _passes,
    "klda": _kernel_discriminant,
    "randumb": _embedding,
    "slda": _discriminant,
    "sparcl": _expansion,
    "sparcl-alg1": _expansion,
}
