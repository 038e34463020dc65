"""KLDA-E: the mean posterior of several KLDAs, each on random Fourier features of its own.

p(c | f) = mean over members of softmax_c(-(h - mu_c)^T (S + v I)^-1 (h - mu_c)),  score_c = log p(c | f)
with h, mu_c, S as in the row ``klda`` of :mod:`sparcl.methods.table`, S the *sum* of squares as there.
Source: KLDA (AAAI 2025, arXiv 2412.15571), its class ``KLDA_E``, SalehMomeni/KLDA, commit ee5f05b.
Official: five members of seeds s ... s + 4,
M = 5,000, a pseudo-inverse (v = 0) on text and an absolute ridge on images, gamma tuned for each
backbone on raw features.

Differences.  v is ``ridge`` times the mean squared distance of a sample to its class mean, tr S / n,
and the bandwidth is kappa median distances of the first session's samples, so that both are
free of scale; numbers of the code's kind are ``sigma`` and ``absolute``.  Members of different runs
share no seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sparcl.base.checks import check_int
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.composed import Composed, refit_members
from sparcl.learners.learner import Learner
from sparcl.parts.heads import RidgedScatter
from sparcl.parts.maps import FourierMap
from sparcl.parts.rules import NARROW, HoldOut, Value, named


@dataclass(eq=False)
class KldaEnsemble(Learner):
    """Members are KLDAs that see the same sessions; costs and state are theirs together.

    Parameters
    ----------
    width : M, outputs of each member's map; members : of the ensemble (official 5)
    sigma : of the kernel exp(-sigma |f - g|^2), or "median": 1 / (2 ``kappa``^2 m^2), m the median distance of
        samples of the first session
    ridge : v in units of tr S / n, or ``gaussian``, which chooses it from ``ridges`` in each session
    validation_share : of each class's rows of a session, which that rule holds out
    seed : of maps and hold-outs
    """

    width: int = 5000
    members: int = 5
    sigma: float | str = "median"
    kappa: float = 1.0
    ridge: Value = 1.0
    ridges: Sequence[float] = NARROW
    validation_share: float = 0.2
    seed: int = 0
    kept: ClassVar[dict[str, Shape | None]] = {"discriminants": list[Composed]}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ridges = tuple(self.ridges)
        check_int("members", self.members, least=1, most=1000)
        holdout = HoldOut(self.validation_share, True, self.seed)
        self.discriminants = [
            Composed(
                map=FourierMap(self.width, self.members * self.seed + i, self.sigma, self.kappa),
                head=RidgedScatter("sample"),
                rule=named(self.ridge, self.ridges, holdout),
            )
            for i in range(self.members)
        ]

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        for member in self.discriminants:
            member.fit_session(Phi, columns)

    @property
    def cannot_forget(self) -> str:  # type: ignore[override]
        """Why no sample can be taken out of the members; empty where it can."""
        return self.discriminants[0].cannot_forget

    def _past(self) -> tuple[list[str], list[str]]:
        return self.discriminants[0]._past()

    def _counts(self) -> NDArray[np.integer]:
        return self.discriminants[0]._counts()

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        for member in self.discriminants:
            member._take_away(Phi, columns)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        return refit_members(self.discriminants, order, refit)

    def _logits(self, Phi: Array) -> Array:
        scores = np.stack([member._logits(Phi) for member in self.discriminants])
        log_posteriors = scores - logsumexp(scores, axis=2, keepdims=True)
        return logsumexp(log_posteriors, axis=0) - np.log(self.members)

    def report(self) -> dict[str, Any]:
        """Return gamma and ridge of each member."""
        reports = [member.report() for member in self.discriminants]
        return {key: [report[key] for report in reports] for key in reports[0]}


build = KldaEnsemble
