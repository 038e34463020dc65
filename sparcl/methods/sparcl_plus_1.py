"""SPARCL+: linear features beside a nonlinear map of the residual, old classes' core frozen.

x(f) = [f ; relu(u W) / sqrt(M)], u = unit(f - U_map U_map^T f), then the constrained ridge of
``sparcl`` in these d + M coordinates with the core in the linear ones.  U_map holds ``tau_map`` of
the base session's energy and stays for ever; the frozen core holds ``tau`` of the energy of the
previous sessions.  The ridge is chosen in each session by the accuracy that held-out sums predict
(``algebra.ridge.predicted_accuracy``): of the rules compared on splits of the training samples
(docs/methods.md) it was the steadiest.  This project's own method: the paper leaves a nonlinear expansion inside the
residual as future work.
"""

from collections.abc import Sequence

from sparcl.base.checks import check_choice, check_int
from sparcl.learners.composed import Composed
from sparcl.methods import sparcl
from sparcl.parts.maps.residual import KINDS
from sparcl.parts.rules import NARROW, Value


def build(
    *,
    ridge: Value = "gaussian",
    tau: float | Sequence[float] | None = 0.5,
    k: int | None = None,
    grid: Sequence[float] = NARROW,
    relative: bool = False,
    validation_share: float = 0.2,
    refresh: int = 1,
    freeze: bool = True,
    expansion: str = "relu",
    tau_map: float = 0.5,
    width: int = 2000,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge, tau, k, grid, relative, validation_share, refresh, freeze, dtype : as in ``sparcl``, of the frozen core
    expansion : ``relu``, ``topk`` (Fly-CL's map inside the residual) or ``rbf``
    tau_map : share of the base session's energy that the map leaves out, in (0, 1)
    width : M, outputs of the map
    seed : of the map's weights
    """
    return sparcl.build(
        ridge=ridge,
        tau=tau,
        k=k,
        grid=grid,
        relative=relative,
        validation_share=validation_share,
        refresh=refresh,
        freeze=freeze,
        expansion=check_choice("expansion", expansion, KINDS),
        tau_map=tau_map,
        m=check_int("width", width, least=1),
        seed=seed,
        dtype=dtype,
    )
