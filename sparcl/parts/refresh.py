"""When the core is chosen anew: the refresh rules of the paper and of its "remedies"."""

from dataclasses import dataclass
from typing import Any

from sparcl.algebra.partition import Partition, Spectrum, complement, residual_condition
from sparcl.algebra.subspaces import canonical_angle
from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.state import Stateful


class Policy(Stateful):
    """Decides before session ``session`` (from 0) is learned, from the sessions before."""

    def renews(
        self, session: int, spectrum: Spectrum, ridge: float, current: Partition
    ) -> tuple[bool, dict[str, Any]]:
        """Return whether a new partition replaces ``current``, and what was measured for it.

        ``spectrum`` is that of the previous sessions' R.
        """
        raise TypeError(f"{type(self).__name__} decides nothing")


@dataclass(frozen=True)
class Periodic(Policy):
    """A first partition after ``warmup`` sessions, then one every ``period`` sessions.

    ``period = 0`` keeps the first one: with ``warmup = 1`` that is the paper's "base only".
    A longer warm-up is its remedy (i) for a small or atypical base session.
    """

    period: int = 1
    warmup: int = 1

    def __post_init__(self) -> None:
        check_int("refresh", self.period, least=0)
        check_int("warmup", self.warmup, least=1)

    def renews(
        self, session: int, spectrum: Spectrum, ridge: float, current: Partition
    ) -> tuple[bool, dict[str, Any]]:
        """Return True in the sessions that the period names; costs nothing."""
        since = session - self.warmup
        due = since == 0 or (since > 0 and self.period > 0 and since % self.period == 0)
        return due, {}


@dataclass(frozen=True)
class Conditioned(Policy):
    """A new partition when the residual block's condition number passes ``limit``.

    The block is ``U_res^T (R + ridge I) U_res`` (paper, "when the residual condition number
    exceeds a threshold"); O(d^3) a session for its eigenvalues.
    """

    limit: float

    def __post_init__(self) -> None:
        check_positive("condition_limit", self.limit)

    def renews(
        self, session: int, spectrum: Spectrum, ridge: float, current: Partition
    ) -> tuple[bool, dict[str, Any]]:
        """Return True in the first session that has a past, and where the condition is over limit."""
        if session == 0:
            return False, {}
        condition = residual_condition(spectrum.R, ridge, complement(current.U_core))
        return session == 1 or condition > self.limit, {"residual_condition": condition}


@dataclass(frozen=True)
class TrustRegion(Policy):
    """A new partition each session while the core turns by less than ``degrees``.

    The angle is the largest canonical angle between the current core and the leading subspace of
    equal rank of the proposed decomposition (paper's remedy (ii)): between subspaces of different
    rank it would say nothing.  Beyond the limit the current core stays.
    """

    degrees: float

    def __post_init__(self) -> None:
        if check_positive("trust_degrees", self.degrees) >= 90:
            raise InputError(
                f"trust_degrees = {self.degrees!r}: it must lie below 90, the largest angle there is."
            )

    def renews(
        self, session: int, spectrum: Spectrum, ridge: float, current: Partition
    ) -> tuple[bool, dict[str, Any]]:
        """Return True where the angle stays under the limit; O(d k^2) beside the proposal."""
        if session == 0:
            return False, {}
        if current.k == 0:
            return True, {}
        angle = canonical_angle(current.U_core, spectrum.leading(current.k))
        return angle <= self.degrees, {"angle": angle}


def policy(
    *,
    refresh: int = 1,
    warmup: int = 1,
    condition_limit: float | None = None,
    trust_degrees: float | None = None,
) -> Policy:
    """Return the policy that these settings name.

    Raises
    ------
    InputError
        When a condition limit and a trust region are both given, or a value is out of range.
    """
    if condition_limit is not None and trust_degrees is not None:
        raise InputError(
            "condition_limit and trust_degrees are two refresh policies: give one of them."
        )
    if condition_limit is not None:
        return Conditioned(condition_limit)
    if trust_degrees is not None:
        return TrustRegion(trust_degrees)
    return Periodic(refresh, warmup)
