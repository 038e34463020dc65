"""Building a learner: the same rule on the norm of rows for whoever calls, from Python or the command line."""

from typing import Any

from sparcl import methods
from sparcl.base.checks import check_flag
from sparcl.learners.learner import Learner


def build(
    method: str = "sparcl-plus", *, normalize: bool = True, device: str = "cpu", **hyper: Any
) -> Learner:
    """Return a new learner that has seen nothing.

    Parameters
    ----------
    method : a module of :mod:`sparcl.methods` (docs/methods.md)
    normalize : divide each row by its Euclidean norm, as the paper does and the suites that quote it; False takes
        rows as they are. The learner keeps this with its state, and its ``repr`` says it
    device : where it computes: ``cpu``, ``cuda``, or ``auto``, CUDA where there is a card; its state is the same
    hyper : hyper-parameters of the method; what is left out takes its documented default

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones), for values
        outside their range, and for a device that is not there or that the method cannot use.
    """
    learner = methods.build(method, device=device, **hyper)
    learner.normalize = check_flag("normalize", normalize)
    return learner
