"""The space of features split by the spectrum of R: a core for each threshold, renewed when a policy says so."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from sparcl.algebra.backend import Backend
from sparcl.algebra.partition import Partition, Rule, Spectrum, empty, residual_directions
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.refresh import Periodic, Policy


@dataclass(eq=False)
class SpectralBasis(Stateful):
    """Leading eigenvectors of the previous sessions' R; a renewal costs O(p^2 k) to O(p^3).

    Parameters
    ----------
    taus : energy thresholds, each a candidate; k : rank in place of them, 0 for an empty core
    policy : when the split is renewed (:mod:`sparcl.parts.refresh`)
    directions : m random residual directions, drawn anew with each split (paper's linear expansion)
    seed : of these directions

    Attributes
    ----------
    partitions : of each threshold; chosen : number of the one that was chosen last
    Qs : (p, m) random directions of each threshold, empty before the first split
    measured : what the policy decided last, and from what
    """

    taus: tuple[float, ...] = ()
    k: int | None = None
    policy: Policy = field(default_factory=Periodic)
    directions: int = 0
    seed: int = 0
    kept: ClassVar[dict[str, Shape | None]] = {
        "partitions": None,
        "chosen": None,
        "Qs": (None, None),
        "measured": None,
    }

    def __post_init__(self) -> None:
        check_int("m", self.directions, least=0)
        check_int("seed", self.seed, least=0)
        if not self.rules():
            raise InputError("A core needs an energy threshold tau or a rank k: give one.")
        self.partitions: list[Partition] = []
        self.chosen = 0
        self.Qs: list[Array] = []
        self.measured: dict[str, Any] = {"renewed": False}

    def rules(self) -> list[Rule]:
        """Return the size of each core."""
        return [Rule(k=self.k)] if self.k is not None else [Rule(tau=tau) for tau in self.taus]

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Start with an empty core in p coordinates: R_0 = 0."""
        if self.k is not None and self.k > p:
            raise InputError(f"k = {self.k} exceeds the {p} feature dimensions that can be split.")
        self.partitions = [empty(p, dtype, on) for _ in self.rules()]

    @property
    def U_core(self) -> Array:
        """Basis (p, k) of the core that was chosen last."""
        return self.partitions[self.chosen].U_core

    def renew(self, sums: Sums, session: int, value: float) -> None:
        """Split the space by R of the previous sessions, where the policy says so."""
        spectrum = Spectrum(sums.gram, session, self.U_core.shape[0])
        rules, partitions, renewed = self.rules(), list(self.partitions), False
        measured: dict[str, Any] = {}
        # the largest threshold first: the others take part of its decomposition
        for j in sorted(range(len(rules)), key=lambda j: -(rules[j].tau or 0)):
            if rules[j].k == 0:  # an empty core is the same in every session
                continue
            due, found = self.policy.renews(session, spectrum, value, partitions[j])
            measured = found if j == 0 else measured
            if due:
                partitions[j], renewed = spectrum.split(rules[j]), True
        if renewed and self.directions:
            rng = generator("residual-directions", self.seed, session)
            self.Qs = [
                sums.gram.on.array(
                    residual_directions(part.U_core, self.directions, rng).astype(sums.dtype)
                )
                for part in partitions
            ]
        self.partitions = partitions
        self.measured = measured | {"renewed": renewed}

    def report(self) -> dict[str, Any]:
        """Return size and energies of the chosen core, and what the policy decided."""
        part = self.partitions[self.chosen]
        return self.measured | {
            "tau": self.rules()[self.chosen].tau,
            "k": part.k,
            "r": part.r,
            "energy": part.energy,
            "energy_before": part.energy_before,
        }
