"""The protocol that every method obeys."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Backend
from sparcl.algebra.host import HOST
from sparcl.base.checks import check_flag
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.npz import read_npz, write_npz
from sparcl.base.rows import unit
from sparcl.base.state import Shape, Stateful, copied, nodes, pack, renewed, send, unpack
from sparcl.base.types import Array

logger = logging.getLogger(__name__)
PROBED = 16  # rows of a session that are scored as soon as it is learned
LONG = 10.0  # seconds; a session that is thought to take more is said before it starts
SPEED = 2e10  # flops a second: an estimate, of dense float64 products on two cores


@dataclass(frozen=True)
class Forgotten:
    """The outcome of :meth:`Learner.forget`.

    Attributes
    ----------
    rows : samples that were taken out
    classes : labels that have no sample any more, and that the learner no longer knows
    differs : in what the state can differ from that of a learner that never saw them; empty where in nothing
    error : what rounding of the sums can make of the weights, relative to them in Frobenius norm: a bound for a ridge,
        an estimate for other heads (:meth:`sparcl.algebra.sums.Sums.error`); None where it is not known
    """

    rows: int
    classes: list[int]
    differs: list[str]
    error: float | None


@dataclass(eq=False)
class Learner(Stateful, ABC):
    """A class-incremental learner on frozen features: a dataclass of its settings.

    Feed one session after the other to :meth:`fit_session`; no sample is needed twice.  Where the
    state is a sum over samples (:attr:`undivided` is empty), the learner is a
    :class:`sparcl.learners.summed.Summed`, and a session may come in parts.  A refused call
    (InputError) leaves the learner as it was.

    Parameters
    ----------
    normalize : divide each row that comes in by its Euclidean norm; else rows are taken as they are given

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    session : sessions fitted so far
    d : features of a row, 0 before the first session
    failure : why a session could not be learned to its end, which makes the learner unusable
    open : labels that are new in a session that comes in parts; None between sessions
    dtype : working precision
    posterior : whether scores are log-probabilities of the classes, up to a constant a row
    on : where it computes; its state does not know
    host_only : why it computes on this machine's CPUs alone; empty where it can elsewhere
    cannot_forget : why no sample can be taken out of the state; empty where it can
    classes_apart : whether each class has a state of its own, so that it can be forgotten without its samples
    keeps_samples : whether samples themselves are kept, by design of the method
    """

    normalize: bool = field(default=False, kw_only=True)
    posterior: ClassVar[bool] = False
    host_only: ClassVar[str] = "its steps are written for NumPy"
    keeps_samples: ClassVar[bool] = False
    cannot_forget: ClassVar[str] = "its state is no sum over samples"
    classes_apart: ClassVar[bool] = False
    dtype = "float64"  # a setting of some learners
    kept: ClassVar[dict[str, Shape | None]] = {
        "classes": ("seen",),
        "session": int,
        "d": int,
        "failure": str,
        "open": (None,),
    }

    def __post_init__(self) -> None:
        check_flag("normalize", self.normalize)
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.session = 0
        self.d = 0
        self.failure = ""
        self.open: NDArray[np.int64] | None = None
        self.on: Backend = HOST
        self.announced = False

    def check_state(self) -> None:
        """Raise ValueError unless each class is there once and has a column of scores."""
        classes = self.all_classes
        if len(np.unique(classes)) < len(classes):
            raise ValueError("a class is there twice")
        if (self.session or len(classes)) and self.open is None and not self.failure:
            with np.errstate(all="ignore"):
                scores = self._logits(np.eye(1, self.d))
            if scores.shape != (1, len(classes)):
                raise ValueError("scores of another number of classes")

    def flops(self, n: int, d: int, c: int) -> float:
        """Return about how many operations a session of n rows of d features takes with c classes; 0: few."""
        return 0.0

    def announce(self, n: int, d: int, c: int) -> None:
        """Log a warning, once, before a session of n rows, 0 where they came in parts, that takes long."""
        seconds = self.flops(n, d, c) / SPEED
        if self.announced or seconds <= LONG:
            return
        self.announced = True
        logger.warning(
            "%s: a session %s takes about %.0f s here, to an order of magnitude. A smaller width, fewer "
            "candidates or float32 take less.",
            type(self).__name__,
            f"of {n} rows" if n else "in parts",
            seconds,
        )

    @property
    def undivided(self) -> str:
        """Why the method must see a session whole; empty where its state is a sum over samples."""
        return "this method is not a sum over samples"

    def fit_session(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Learn the next session from Phi (n, d) and integer labels y (n,).

        Raises
        ------
        InputError
            For wrong shapes, no samples, non-finite features, non-integer labels, or a feature
            dimension that differs from earlier sessions; the message names the session.
        NumericalError
            When the ridge system is not positive definite, features are too large or too small for the
            working precision, or the session's scores are not finite or all the same.
        """
        if self.failure or self.unpickled:
            self.begin_update()
        if self.open is not None:
            raise InputError(
                f"session {self.session + 1} was begun in parts: end it with solve() before the next."
            )
        Phi, y = checked_session(Phi, y, self)
        classes, columns = self.columns_of(y)
        old = len(self.classes)
        self.announce(len(Phi), Phi.shape[1], len(classes))
        try:
            self._fit(Phi, columns, old, len(classes))
            few = Phi[np.unique(np.linspace(0, len(Phi) - 1, PROBED).astype(np.intp))]
            check_learned(self._logits(few), few)
        except InputError as error:
            raise InputError(self.in_session(error)) from error
        except NumericalError as error:
            # The sums hold the session already: predictions stay, but a second try would add twice.
            raise self.failed(error) from error
        self.classes, self.d = classes, Phi.shape[1]
        self.session += 1

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, c) of Phi (n, d); columns in the order of :attr:`classes`.

        Raises
        ------
        InputError
            Before the first session, inside one, and for features of another shape or not finite.
        NumericalError
            When features are too large or too small for the working precision, or a score is not finite.
        """
        if not self.d:
            raise InputError("No session was fitted yet: call fit_session before logits.")
        if self.open is not None:
            raise InputError(
                f"session {self.session + 1} is in progress: end it with solve() before logits."
            )
        return check_scores(self._logits(checked_rows(Phi, self)))

    def scorer(self, Phi: Array) -> Callable[[int], Array]:
        """Return a function that gives :meth:`logits` of the first n rows of Phi, after any later session too.

        The rows are checked once, and mapped once where their map is frozen.
        """
        rows = checked_rows(Phi, self)
        return lambda n: check_scores(self._logits(rows[:n]))

    def predict(self, Phi: Array) -> NDArray[np.int64]:
        """Return the label (n,) with the highest score among the classes seen."""
        return self.classes[np.argmax(self.logits(Phi), axis=1)]

    def report(self) -> dict[str, Any]:
        """Return what the last session measured and chose (ranks, energies, ridge)."""
        return {}

    def move(self, on: Backend) -> None:
        """Compute elsewhere from now on, with all that was learned; InputError as :meth:`check_device`."""
        self.check_device(on)
        for node in nodes(self):
            if isinstance(node, Learner):
                node.on = on
        send(self, on.array)

    def check_device(self, on: Backend) -> None:
        """Raise InputError where this learner computes on the host alone; the message says why."""
        if on is not HOST and self.host_only:
            raise InputError(
                f"{type(self).__name__} cannot run on {on.name}: {self.host_only}. Take device cpu."
            )

    @abstractmethod
    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        """Fit checked features; ``columns`` (n,) are class columns, the first ``old`` are old."""

    @abstractmethod
    def _logits(self, Phi: Array) -> Array:
        """Score checked features."""

    def prepared(self, Phi: Array) -> Array:
        """Return the rows (n, d) that the method sees of features Phi (n, d)."""
        return unit(Phi) if self.normalize else Phi

    def try_scores(self) -> None:
        """Raise NumericalError, and make the learner unusable, where scores after a session are no numbers."""
        few = np.stack(
            [np.ones(self.d), np.zeros(self.d)]
        )  # in place of rows: ones meet every weight
        try:
            check_learned(self._logits(few), few)
        except NumericalError as error:
            raise self.failed(error) from error

    # --- forgetting --------------------------------------------------------------------------------

    def forget(
        self, Phi: Array, y: NDArray[np.integer], *, refit_from_sums: bool = False
    ) -> Forgotten:
        """Take samples Phi (n, d), y (n,) out: the state becomes that of a learner that never saw them.

        Cost: that of learning them, and of a solution, whatever the number of samples that stay; a composed learner
        checks what is left by one more factor, D^3 / 3.  A copy of the state is held meanwhile.
        docs/forgetting.md says for each method what is exact.  Classes keep their order, and the sessions their
        number.  Where all samples are forgotten, the learner is a new one.

        Parameters
        ----------
        refit_from_sums : where the state rests on earlier sessions in another way than by sums, fit it again from the
            sums that are left, as if the samples that stay had come in one session, but for what ``differs`` says

        Raises
        ------
        InputError
            Where nothing can be forgotten, or not without ``refit_from_sums``, the message says why; for a class that
            was not learned, more samples than were, and samples that cannot have been; and as :meth:`fit_session`.
        NumericalError
            Where rounding of the sums could move the weights by more than 1%: the sums that were held are too large
            beside the ridge.
        """
        after = self._begin_forgetting(refit_from_sums)
        Phi, y = checked_session(Phi, y, self, "samples to be forgotten")
        columns = self._known(y)
        gone, counts = np.bincount(columns, minlength=len(self.classes)), after._counts().copy()
        if (gone > counts).any():
            j = int(np.argmax(gone - counts))
            raise InputError(
                f"{gone[j]} samples of class {self.classes[j]} are to be forgotten, and {counts[j]} were learned: some "
                "are given twice, or were never learned."
            )
        after._take_away(Phi, columns)
        return self._become(after, np.flatnonzero(gone < counts), len(y), refit_from_sums)

    def forget_classes(
        self, labels: Sequence[int] | NDArray[np.integer], *, refit_from_sums: bool = False
    ) -> Forgotten:
        """Take all samples of some classes out, without the samples, where each class has a state of its own.

        Cost: that of a solution.  Errors: as :meth:`forget`, and InputError where classes share a sum such as R.
        """
        after = self._begin_forgetting(refit_from_sums)
        if not self.classes_apart:
            raise InputError(
                f"{type(self).__name__} sums the samples of all classes together: to drop a class's column alone would "
                "leave them there. Give its samples to forget()."
            )
        gone = np.unique(self._known(np.asarray(labels, dtype=np.int64)))
        stay = np.setdiff1d(np.arange(len(self.classes)), gone)
        return self._become(after, stay, int(after._counts()[gone].sum()), refit_from_sums)

    def _begin_forgetting(self, refit: bool) -> Self:
        """Return a copy to be changed; InputError where this learner cannot forget."""
        self.begin_update()
        if self.open is not None or not self.session:
            raise InputError(
                "Forgetting is for between sessions: fit one first, and end one in parts with solve()."
            )
        if self.cannot_forget:
            raise InputError(
                f"{type(self).__name__} cannot forget samples: {self.cannot_forget}. Learn those that stay with a new "
                "learner."
            )
        past = [why for part in self._past() for why in part]
        if past and not refit:
            raise InputError(
                f"{type(self).__name__} cannot forget samples as if it never saw them: {'; '.join(past)}. Fit it again "
                "from the sums that are left (refit_from_sums), or learn the samples that stay with a new learner."
            )
        after = type(self).from_state(pack(self))
        after.move(self.on)
        return after

    def _known(self, y: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the column of each label (n,); InputError for one that was not learned."""
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise InputError(f"class {unknown[0]} was never learned, or is forgotten already.")
        return self.columns_of(y)[1]

    def _become(self, after: Self, stay: NDArray[np.intp], rows: int, refit: bool) -> Forgotten:
        """Take the state of ``after``, of which these columns stay, once it is fitted again."""
        if refit:
            stay = stay[np.argsort(self.classes[stay])]
            after.session = 0
        kept, dropped = self.classes[stay], np.delete(self.classes, stay)
        error, differs = None, list[str]()
        if len(stay):
            after.classes = kept
            error, differs = after._refit(stay, refit), after._past()[1]
            after.session = 1 if refit else self.session
            after.try_scores()
        else:
            after = renewed(self)
            after.move(self.on)
        vars(self).clear()
        vars(self).update(vars(after))
        return Forgotten(rows, dropped.tolist(), differs, error)

    def _past(self) -> tuple[list[str], list[str]]:
        """Return how the state rests on earlier samples besides sums: what a refit clears, and what it leaves."""
        return [], []

    def _counts(self) -> NDArray[np.integer]:
        """Return the samples (c,) of each class."""
        raise TypeError(f"{type(self).__name__} counts nothing")

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        """Take checked samples out of the sums; InputError where they cannot have been learned."""
        raise TypeError(f"{type(self).__name__} forgets nothing")

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        """Keep the class columns ``order``, fit weights to the sums, and return :attr:`Forgotten.error`."""
        raise TypeError(f"{type(self).__name__} forgets nothing")

    # --- where it stands in its stream -----------------------------------------------------------

    @property
    def all_classes(self) -> NDArray[np.int64]:
        """Labels (c,) by column of the sums: those of :attr:`classes`, then the open session's."""
        return self.classes if self.open is None else np.concatenate([self.classes, self.open])

    def columns_of(self, y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the known labels with those that are new in y (n,), and the column (n,) of each y."""
        seen = self.classes if self.open is None else self.all_classes
        known = np.concatenate([seen, np.setdiff1d(y, seen)])
        sorter = np.argsort(known, kind="stable")
        return known, sorter[np.searchsorted(known, y, sorter=sorter)]

    def failed(self, error: NumericalError) -> NumericalError:
        """Make the learner unusable; return the error with the number of the session that failed."""
        self.failure = str(error)
        return NumericalError(self.in_session(error))

    def in_session(self, error: Exception) -> str:
        """Return what an error says, with the number of the session; a member of an ensemble has said it before."""
        where = f"session {self.session + 1}: "
        return where + str(error).removeprefix(where)

    def begin_update(self) -> None:
        """Make the state writeable; NumericalError after a session that could not be learned to its end."""
        if self.failure:
            raise NumericalError(f"An earlier session failed, build a new learner: {self.failure}")
        self.make_writeable()

    # --- saved -------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that the learner keeps: a flat mapping of arrays and texts.

        :meth:`from_state` continues to the bit.  Unless ``keeps_samples`` says otherwise there are
        sums and bases in it, and no sample of two or more a class.  A snapshot: what the learner fits
        later does not change it.
        """
        return copied(pack(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a learner that continues where :meth:`state` was taken.

        Raises
        ------
        InputError
            When the state is another kind of learner's, lacks something or holds too much, or has a
            value that is not finite or of a shape that does not fit the rest.
        """
        learner = unpack(state)
        if not isinstance(learner, cls):
            raise InputError(
                f"This state belongs to {type(learner).__name__}, not to {cls.__name__}: load it with the "
                "class that saved it."
            )
        return learner

    def save(self, path: str | Path, **beside: str | Array) -> None:
        """Write the state, and texts and arrays beside it, as :func:`sparcl.base.npz.write_npz` does."""
        state = pack(self)
        if both := state.keys() & beside.keys():
            raise InputError(
                f"{path}: {min(both)!r} is a name in the learner's own state. Take another name."
            )
        write_npz(path, state | beside)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; no pickle is ever loaded.

        Raises
        ------
        InputError
            When the file is no such state, or was changed after it was written.
        """
        state = read_npz(path)
        try:
            return cls.from_state(state)
        except (ValueError, InputError) as error:
            raise InputError(f"{path}: not a learner that can continue ({error}).") from error


def checked_session(
    Phi: Array, y: NDArray[np.integer], learner: Learner, where: str = ""
) -> tuple[Array, NDArray[np.int64]]:
    """Return the rows (n, d) that a learner sees of features Phi, and labels y (n,), of a session or a part of it.

    ``where`` names them in messages; by default the session does.

    Raises
    ------
    InputError
        For wrong shapes, no samples, features that are not finite or not floating point, labels that
        are not integers, or another number of features than before; the message names the session.
    NumericalError
        When the features are too large or too small for the working precision ``dtype``.
    """
    where = where or f"session {learner.session + 1}"
    Phi, y = np.asarray(Phi), np.asarray(y)
    if Phi.ndim != 2 or y.ndim != 1 or len(Phi) != len(y):
        raise InputError(
            f"{where}: Phi must be (n, d) and its labels y (n,), got shapes {Phi.shape} and "
            f"{y.shape}."
        )
    if len(y) == 0:
        raise InputError(
            f"{where}: no samples. Usual cause: a class order whose classes have no training "
            "sample; leave the session out or check the labels."
        )
    if not np.issubdtype(y.dtype, np.integer):
        raise InputError(f"{where}: labels must be integers, got dtype {y.dtype}.")
    if int(y.max()) > np.iinfo(np.int64).max:
        raise InputError(
            f"{where}: label {y.max()} is above {np.iinfo(np.int64).max}, the largest that is kept. Usual cause: "
            "hashes or ids as labels; number the classes."
        )
    if not np.issubdtype(Phi.dtype, np.floating):
        raise InputError(f"{where}: features must be floating point, got dtype {Phi.dtype}.")
    return checked_rows(Phi, learner, where), y.astype(np.int64)


def checked_rows(Phi: Array, learner: Learner, where: str = "features to be scored") -> Array:
    """Return the rows that a learner sees of features Phi (n, d).

    Raises
    ------
    InputError
        For another shape or a value that is not finite.
    NumericalError
        Unless the cube of the largest |feature| lies in the range of the working precision: sums hold products of
        two features, and scores those of a third with them.
    """
    Phi, d = np.asarray(Phi), learner.d
    if Phi.ndim != 2 or (d and Phi.shape[1] != d):
        raise InputError(
            f"{where}: Phi has shape {Phi.shape}, and this learner was fitted on (n, {d}) features"
            ": give features of the same backbone."
        )
    finite = np.isfinite(Phi).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{where}: {np.count_nonzero(~finite)} of {len(Phi)} feature rows are not finite "
            f"(first: row {int(np.argmin(finite))}). Usual cause: half-precision overflow in "
            "extraction; extract again in float32."
        )
    Phi = learner.prepared(Phi)
    largest = max(float(Phi.max(initial=0)), -float(Phi.min(initial=0)))  # |Phi| would be a copy
    limits = np.finfo(learner.dtype)
    least, most = float(np.cbrt(limits.tiny)), float(np.cbrt(limits.max))
    if largest and not least <= largest <= most:
        raise NumericalError(
            f"{where}: the largest feature is {largest:.3g}; in {learner.dtype} it must lie within {least:.0e} and "
            f"{most:.0e}, or sums and scores leave the range of numbers. Usual cause: damaged features, or "
            "ones that were scaled; divide each row by its norm."
        )
    return Phi


def check_scores(scores: Array) -> Array:
    """Return scores (n, c) if all are finite, else raise NumericalError."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise NumericalError(
            f"The scores of row {row} are not finite. Usual cause: features of another scale than the "
            "settings are for; divide each row by its norm, raise ridge or lower rate."
        )
    return scores


def check_learned(scores: Array, Phi: Array) -> None:
    """Raise NumericalError unless scores (n, c) of rows Phi (n, d) are finite and tell the rows apart.

    The scores of a single class need not: its probability is always 1.  A weight that is not finite makes each
    score of its class so: a few rows show it.
    """
    if not np.isfinite(scores).all():
        check_scores(scores)
    spread = np.ptp(scores, axis=0).max()
    if (
        scores.shape[1] > 1
        and np.ptp(Phi, axis=0).any()
        and spread <= np.finfo(scores.dtype).eps * np.abs(scores).max()
    ):
        raise NumericalError(
            "different features get the same scores. Usual cause: features so small beside the settings "
            "that they vanish in rounding, or so large that the map has no slope there; divide each row by "
            "its norm."
        )
