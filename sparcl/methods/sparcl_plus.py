"""SPARCL+: linear features beside a nonlinear map of the residual, old classes' core frozen.

x(f) = [f ; relu(u W) / sqrt(M)], u = unit(f - U_map U_map^T f), then the constrained ridge of
``sparcl`` in these d + M coordinates with the core in the linear ones.  U_map holds ``tau_map`` of
the base session's energy and stays for ever; the frozen core holds ``tau`` of the energy of the
previous sessions.  This project's own method: the paper leaves a nonlinear expansion inside the
residual as future work.
"""

from collections.abc import Callable

from sparcl.checks import share, whole
from sparcl.expansion import ResidualRelu
from sparcl.learner import Array
from sparcl.partition import Rule, partition
from sparcl.spectral import SpectralRidge


def build(
    *,
    ridge: float = 0.1,
    tau: float | None = 0.5,
    k: int | None = None,
    refresh: int = 1,
    tau_map: float = 0.5,
    width: int = 2000,
    seed: int = 0,
    dtype: str = "float64",
) -> SpectralRidge:
    """Build the learner.

    Parameters
    ----------
    ridge, tau, k, refresh, dtype : as in ``sparcl``, of the frozen core
    tau_map : share of the base session's energy that the map leaves out, in (0, 1)
    width : M, outputs of the map
    seed : of the map's weights
    """
    return build_grid(
        ridge=[ridge],
        tau=[tau if k is None else None],
        k=k,
        refresh=refresh,
        tau_map=tau_map,
        width=width,
        seed=seed,
        dtype=dtype,
    )


def build_grid(
    *,
    ridge: list[float],
    tau: list[float | None],
    k: int | None = None,
    refresh: int = 1,
    tau_map: float = 0.5,
    width: int = 2000,
    seed: int = 0,
    dtype: str = "float64",
) -> SpectralRidge:
    """Build one learner that fits all pairs of ridge and tau at once."""
    map_rule = Rule(tau=share("tau_map", tau_map))
    width, seed = whole("width", width, least=1), whole("seed", seed, least=0)

    def make_map(R: Array) -> Callable[[Array], Array]:
        return ResidualRelu(partition(R, [map_rule])[0].U_core, width, seed)

    return SpectralRidge(
        ridges=ridge,
        rules=[Rule(tau=value, k=k) for value in tau],
        refresh=refresh,
        make_map=make_map,
        seed=seed,
        dtype=dtype,
    )
