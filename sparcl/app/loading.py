"""Opening what was saved, whoever saved it."""

from pathlib import Path
from typing import TYPE_CHECKING, Union

from sparcl.app import kinds
from sparcl.app.model import Model
from sparcl.learners.learner import Learner

if TYPE_CHECKING:
    from sparcl.app.classifier import Classifier


def load(path: str | Path) -> Union[Learner, Model, "Classifier"]:
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
    match kinds.check_kind(path, kinds.LEARNER, kinds.MODEL, kinds.CLASSIFIER):
        case kinds.MODEL:
            return Model.load(path)
        case kinds.CLASSIFIER:
            from sparcl.app.classifier import Classifier

            return Classifier.load(path)
        case _:
            return Learner.load(path)
