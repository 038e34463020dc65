"""Which parts go together."""

from sparcl.base.errors import InputError
from sparcl.parts.beside import Beside
from sparcl.parts.core import Core, Unheld
from sparcl.parts.heads import BalancedRidge, Head, Ridge
from sparcl.parts.rules import Rule
from sparcl.parts.trust import Trust


def check_parts(head: Head, core: Unheld, rule: Rule, trust: Trust) -> None:
    """Raise InputError where parts do not go together."""
    if trust.whole_session and isinstance(head, BalancedRidge):
        raise InputError(
            "The head 'balanced-ridge' weighs each row by its class's count: it goes with trust 'all' alone."
        )
    if isinstance(core, Beside) and type(head) is not Ridge:
        raise InputError("A core holds coordinates of the ridge's weights: give the head 'ridge'.")
    if isinstance(core, Core):
        if type(head) is not Ridge:
            raise InputError(
                "A core holds coordinates of the ridge's weights: it goes with the head 'ridge' alone."
            )
        if core.update == "woodbury" and not (core.recursive and rule.single):
            raise InputError(
                "update = 'woodbury' keeps one residual inverse: it goes with one fixed ridge, one "
                "core, exact coupling, full new classes, freezing, and no linear expansion."
            )
    if not head.fits_targets and rule.needs_targets:
        raise InputError(
            "Scores of this head are no estimates of one-hot targets, so that a squared error says nothing "
            "about them: choose by ridge = 'gaussian', or give a number."
        )
    if core.candidates > 1 and not rule.compares_cores:
        raise InputError(
            "A rule that looks at the newest session cannot tell cores apart: give one tau or k."
        )
