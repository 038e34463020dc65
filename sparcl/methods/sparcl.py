"""SPARCL: cumulative ridge with the old classes' core coordinates frozen.

W = argmin sum_s ||Phi_s W - Y_s||^2 + ridge ||W||^2 subject to U_core^T W_old = U_core^T W_prev.
Source: paper, Lemma 1 and the appendix's block identity.  The printed Algorithm 1 solves another
problem; it is the method ``sparcl-alg1``.
"""

from collections.abc import Sequence

from sparcl.base.checks import check_choice, check_int
from sparcl.base.errors import InputError
from sparcl.learners.composed import Composed
from sparcl.parts.core import Core
from sparcl.parts.maps import Features, ResidualMap
from sparcl.parts.maps.residual import KINDS
from sparcl.parts.rules import NARROW, HoldOut, Value, named


def build(
    *,
    ridge: Value = 1.0,
    tau: float | Sequence[float] | None = 0.95,
    k: int | None = None,
    grid: Sequence[float] = NARROW,
    relative: bool = False,
    validation_share: float = 0.2,
    refresh: int = 2,
    warmup: int = 1,
    condition_limit: float | None = None,
    trust_degrees: float | None = None,
    freeze: bool = True,
    reappearing: str = "frozen",
    new_classes: str = "full",
    coupling: str = "exact",
    project: bool = False,
    expansion: str = "none",
    m: int = 0,
    tau_map: float = 0.5,
    update: str = "auto",
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner; ridge, tau and refresh default to the paper's.

    Parameters
    ----------
    ridge : lambda, several, or a rule (:func:`sparcl.parts.rules.named`) that chooses from ``grid``
    tau : share of the energy that the core holds, in (0, 1), or several: all are fitted, or the rules
        ``all`` and ``gaussian`` choose among them; not used when ``k`` is given
    k : rank of the core (from the second session on)
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of each class's rows in a session that a rule holds out
    refresh : sessions between partitions; 0 keeps the first one
    warmup, condition_limit, trust_degrees : see :mod:`sparcl.parts.refresh`
    freeze, reappearing, new_classes, coupling, project, update : see :class:`sparcl.parts.core.Core`
    expansion : ``none``; ``linear``, m random residual directions drawn anew with each partition;
        ``relu``, ``topk``, ``rbf``, a frozen map of m outputs of the unit-normed residual
    m : width of the expansion
    tau_map : energy of the base session that a nonlinear map leaves out; 0 maps all of it
    seed : of random directions, maps and hold-outs
    dtype : working precision
    """
    check_choice("expansion", expansion, ("none", "linear", *KINDS))
    check_int("m", m, least=0)
    if (expansion == "none") != (m == 0):
        raise InputError(
            f"expansion = {expansion!r} with m = {m}: an expansion has a width m of at least 1, and "
            "without one m is 0."
        )
    core = Core(
        tau=tau,
        k=k,
        refresh=refresh,
        warmup=warmup,
        condition_limit=condition_limit,
        trust_degrees=trust_degrees,
        freeze=freeze,
        reappearing=reappearing,
        new_classes=new_classes,
        coupling=coupling,
        project=project,
        directions=m if expansion == "linear" else 0,
        update=update,
        seed=seed,
    )
    return Composed(
        map=ResidualMap(m, expansion, tau_map, seed) if expansion in KINDS else Features(),
        core=core,
        rule=named(ridge, grid, HoldOut(validation_share, by_class=True, seed=seed), relative),
        dtype=dtype,
    )
