"""SPARCL: cumulative ridge with the old classes' core coordinates frozen.

W = argmin sum_s ||Phi_s W - Y_s||^2 + ridge ||W||^2 subject to U_core^T W_old = U_core^T W_prev.
Source: paper, Lemma 1 and the appendix's block identity.  The printed Algorithm 1 solves another
problem; it is the method ``sparcl-alg1``.
"""

from typing import Any

from sparcl.learners.spectral import Settings, SpectralRidge

RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)  # candidates when ``ridge`` names a rule


def build(
    *,
    ridge: float | str = 1.0,
    tau: float | None = 0.95,
    k: int | None = None,
    refresh: int = 2,
    warmup: int = 1,
    condition_limit: float | None = None,
    trust_degrees: float | None = None,
    cores: int = 1,
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
) -> SpectralRidge:
    """Build the learner; ridge, tau and refresh default to the paper's.

    Parameters
    ----------
    ridge : lambda, or the rule that chooses it in each session among 0.03 to 3: ``newest`` (error
        on a fifth of the session, RanPAC's), ``all`` (on a fifth of every session, from sums) or
        ``gaussian`` (accuracy predicted from these sums)
    tau : share of the energy that the core holds, in (0, 1); not used when ``k`` is given
    k : rank of the core (from the second session on)
    refresh : sessions between partitions; 0 keeps the first one
    warmup, condition_limit, trust_degrees, cores, freeze, reappearing, new_classes, coupling,
    project, expansion, m, tau_map, update, seed, dtype : see :class:`sparcl.learners.spectral.Settings`
    """
    rule = (
        {"ridge_rule": ridge, "ridges": RIDGES} if isinstance(ridge, str) else {"ridges": (ridge,)}
    )
    return SpectralRidge(
        Settings(
            **rule,
            taus=(tau,) if k is None else (),
            k=k,
            refresh=refresh,
            warmup=warmup,
            condition_limit=condition_limit,
            trust_degrees=trust_degrees,
            cores=cores,
            freeze=freeze,
            reappearing=reappearing,
            new_classes=new_classes,
            coupling=coupling,
            project=project,
            expansion=expansion,
            m=m,
            tau_map=tau_map,
            update=update,
            seed=seed,
            dtype=dtype,
        )
    )


def build_grid(
    *, ridge: list[float], tau: list[float] | None = None, k: int | None = None, **switches: Any
) -> SpectralRidge:
    """Build one learner that fits all pairs of ridge and tau at once."""
    taus = () if k is not None else tuple(tau or [0.95])
    return SpectralRidge(
        Settings(ridges=tuple(ridge), taus=taus, k=k, **({"refresh": 2} | switches))
    )
