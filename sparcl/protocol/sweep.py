"""Many class orders, ridges and thresholds from the sums of each class: no pass over samples."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.algebra import linalg
from sparcl.algebra.class_sums import ClassSums
from sparcl.algebra.partition import empty
from sparcl.algebra.statistics import Statistics
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.spectral import Point, Settings, SpectralRidge
from sparcl.protocol import experiment

Array = NDArray[np.floating]
# From so many ridges on, one decomposition of R is quicker than a Cholesky factor for each: measured
# with 100 classes and one thread, it pays from 21 to 24 ridges at d = 768 and 1,280.
MANY = 24


class SummedRidge(SpectralRidge):
    """A :class:`sparcl.learners.spectral.SpectralRidge` whose sessions arrive as sums of their classes.

    Weights are those that ``fit_session`` gives on the samples, to rounding: R, C and G are all that
    its direct path reads.  Cost per session: as there, without n D^2 of accumulation; a joint ridge
    with :data:`MANY` ridges or more takes one decomposition, O(d^3), and 2 d^2 c a ridge.

    Raises
    ------
    InputError
        For settings that read samples; the message names the first.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        needed = reads_samples(settings)
        if needed:
            raise InputError(f"Sums of classes do not hold what these settings need: {needed}.")

    def fit_sums(self, labels: Sequence[int] | NDArray[np.integer], sums: ClassSums) -> None:
        """Learn the next session: all samples of ``labels``, classes that are new.

        Raises
        ------
        InputError
            When a class was learned before, or has no sample, or the features differ.
        NumericalError
            When the ridge system is not positive definite.
        """
        self._check_usable()
        where, old = f"session {self.session + 1}", len(self.classes)
        labels = np.sort(np.asarray(labels, dtype=np.int64))
        again = np.intersect1d(labels, self.classes)
        if len(again):
            raise InputError(
                f"{where}: class {again[0]} was learned before, all its samples at once."
            )
        if self._d not in (None, sums.d):
            raise InputError(
                f"{where}: sums of {sums.d} features, earlier sessions had {self._d}: all must come "
                "from the same backbone."
            )
        try:
            self._learn_sums(sums.of(labels), old)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except NumericalError as error:
            self._failure = str(error)
            raise NumericalError(f"{where}: {error}") from error
        self.classes, self._d = np.concatenate([self.classes, labels]), sums.d
        self.session += 1

    def _learn_sums(self, session: Statistics, old: int) -> None:
        d, classes = len(session.gram), old + len(session.counts)
        if self.statistics is None:
            self.statistics = Statistics(d)
            self.partitions = [[empty(d)] for _ in self.settings.rules()]
        self._report = {}
        self._renew_partitions(d)  # from the previous sessions' R
        self.cluster = np.zeros(classes, dtype=np.int64)
        self.statistics.grow(classes)
        self.statistics.merge(session, range(old, classes))
        held = np.arange(classes) < (old if self.settings.freeze else 0)
        points = self._grid()
        self._weights = self._solved(points, held, old)
        self._report |= self._measured(points[0]) | {"update": "direct"}

    def _solved(
        self, points: list[Point], held: NDArray[np.bool_], known: int
    ) -> dict[tuple[int, int], Array]:
        """Return the weights of every point; many joint ridges from ``R = U diag(s) U^T``."""
        if self.settings.k != 0 or len(self.settings.ridges) < MANY:
            return super()._solved(points, held, known)
        s, U = linalg.descending_eigh(self.statistics.R)
        least = min(self.settings.ridges)
        if s[-1] + least <= 0:
            raise NumericalError(
                f"R + {least:g} I is not positive definite (d = {len(s)}, smallest eigenvalue "
                f"{s[-1]:.3g}, largest {s[0]:.3g}). Usual cause: a ridge too small for the scale of "
                "the features; raise ridge."
            )
        turned = linalg.product(U.T, self.statistics.C)
        return {
            (point.i, point.j): linalg.product(U, turned / (s + point.ridge)[:, None])
            for point in points
        }


def reads_samples(settings: Settings) -> str:
    """Return which of these settings the sums of classes cannot serve; nothing if they can."""
    if settings.ridge_rule != "fixed":
        return f"the rule {settings.ridge_rule!r} holds samples out (give ridges as numbers)"
    if settings.project or settings.cores > 1:
        return "project and cores > 1 measure each session's samples"
    if settings.expansion == "linear":
        # their basis is that of the residual, which turns with the sign of an eigenvector
        return "random residual directions differ with the last bits of R"
    if settings.expansion != "none":
        return f"the map {settings.expansion!r} is applied to samples (sum its outputs instead)"
    if settings.update == "woodbury":
        return "the recursive update takes rows (update = 'auto' or 'direct' does not)"
    if settings.dtype != "float64":
        return f"sums are kept in float64, not in {settings.dtype}"
    return ""


def learner(method: str, **grid: Any) -> SummedRidge:
    """Return a learner of all points of a grid, of ``acil``, ``sparcl`` or ``sparcl-alg1``.

    Parameters
    ----------
    grid : lists of ``ridge`` and, where the method has a core, ``tau``; other hyper-parameters as
        they are

    Raises
    ------
    InputError
        When the method is no ridge on R and C, or a hyper-parameter is unknown or needs samples.
    """
    module = importlib.import_module(methods.module_name(method))
    built = (
        module.build_grid(**methods.checked(method, grid))
        if hasattr(module, "build_grid")
        else None
    )
    return _of_sums(method, built)


def summed(method: str, hyper: dict[str, Any]) -> SummedRidge:
    """Return a method that learns from sums; InputError when it, or a hyper-parameter, needs samples."""
    return _of_sums(method, methods.build(method, **hyper))


def _of_sums(method: str, built: object) -> SummedRidge:
    if not isinstance(built, SpectralRidge):
        raise InputError(
            f"Method {method!r} does not follow from sums of classes: acil, sparcl and sparcl-alg1 do."
        )
    return SummedRidge(built.settings)


def correct(
    sums: ClassSums,
    Phi: Array,
    y: NDArray[np.integer],
    sessions: Sequence[NDArray[np.integer]],
    fitted: SummedRidge,
) -> dict[tuple[int, int], NDArray[np.int64]]:
    """Run one class order at every grid point of a new learner and count hits on test samples.

    Parameters
    ----------
    sums : of the training samples; Phi (n, d), y (n,) : test samples, prepared as those were
    sessions : classes of each session

    Returns
    -------
    (T, K) counts as ``correct`` of :func:`sparcl.protocol.experiment.run`, by number of ridge and of core rule.
    Cost beside the fits: 2 n d c flops a point and session.
    """
    order = np.concatenate(sessions)
    place = np.full(sums.classes, -1)
    place[order] = np.arange(len(order))
    position = place[y]
    # test samples by the class's place: those of the classes seen are the first
    rows = np.argsort(position, kind="stable")[np.count_nonzero(position < 0) :]
    Phi, position = np.asarray(Phi, dtype=np.float64)[rows], position[rows]
    result: dict[tuple[int, int], NDArray[np.int64]] = {}
    for t, classes in enumerate(sessions):
        fitted.fit_sums(classes, sums)
        tested = np.searchsorted(position, len(fitted.classes))
        for point, scores in fitted.scores(Phi[:tested]).items():
            found = place[fitted.classes[np.argmax(scores, axis=1)]]
            hit = position[:tested][found == position[:tested]]
            counts = result.setdefault(point, np.zeros((len(sessions), len(order)), dtype=np.int64))
            counts[t] = np.bincount(hit, minlength=len(order))
    return result


def run(
    sums: ClassSums,
    test: experiment.Split,
    sessions: Sequence[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
) -> dict[str, Any]:
    """Run one method over one stream from sums; the record is that of :func:`sparcl.protocol.experiment.run`.

    Parameters
    ----------
    sums : of the training samples; test : prepared as those were
    sessions : classes of each session
    method, hyper : for :func:`sparcl.methods.build`

    Raises
    ------
    SparclError
        When the method or a hyper-parameter needs samples, or from the learner.
    """
    sessions = [np.asarray(classes, dtype=np.int64) for classes in sessions]
    fitted = summed(method, hyper)
    counts = np.bincount(test.labels, minlength=sums.classes)
    if len(counts) > sums.classes or test.features.shape[1] != sums.d or not counts.all():
        raise InputError(
            f"{sums.classes} classes of {sums.d} features were summed, but the test split has "
            f"{np.count_nonzero(counts)} classes of {test.features.shape[1]} features: extract both splits of one data "
            "set with the same backbone."
        )
    return experiment.evaluate_stream(
        fitted,
        lambda classes: fitted.fit_sums(classes, sums),
        test,
        sessions,
        method,
        methods.hyperparameters(method) | hyper,
    )
