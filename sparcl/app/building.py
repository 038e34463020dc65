"""Learners built and opened again: the same rules from Python and from the command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from sparcl import methods
from sparcl.app.kinds import CLASSIFIER, LEARNER, MODEL, check_kind
from sparcl.base.checks import check_flag
from sparcl.base.state import same
from sparcl.learners.learner import Learner

if TYPE_CHECKING:
    from sparcl.app.classifier import Classifier
    from sparcl.app.model import Model


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


def load(path: str | Path) -> Union[Learner, "Model", "Classifier"]:
    """Open what the library or the command line saved; nothing in a file is ever run.

    Returns
    -------
    What was saved: the learner of ``Learner.save``, the classifier of ``Classifier.save`` (needs scikit-learn), or
    the :class:`sparcl.app.model.Model` of ``sparcl fit``, whose ``predict`` gives class names.

    Raises
    ------
    InputError
        When the file is absent, damaged, or none of these; the message says what it is.
    """
    kind = check_kind(path, LEARNER, MODEL, CLASSIFIER)
    if kind == LEARNER:
        methods.every()
        return Learner.load(path)
    if kind == MODEL:
        from sparcl.app.model import Model

        return Model.load(path)
    from sparcl.app.classifier import Classifier

    return Classifier.load(path)


def check_built(made: Learner, learner: Learner) -> None:
    """Raise ValueError unless a saved learner has the settings of the one that its file's parameters make."""
    differing = (
        [f"method ({type(made).__name__})"]
        if type(made) is not type(learner)
        else same(made, learner)
    )
    if differing:
        raise ValueError(f"the parameters and the learner differ in {', '.join(differing)}")
