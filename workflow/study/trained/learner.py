"""The learner that trains on images: what a method says, and what all methods share."""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparcl.base import randomness
from sparcl.base.checks import check_int
from sparcl.base.errors import InputError, NumericalError
from study.trained import loop
from study.trained.feed import Batch, Feed, check_rows
from study.trained.images import Images
from study.trained.phase import Phase, Training
from study.trained.setup import Setup

logger = logging.getLogger(__name__)

# percent; a session whose own images are classified worse was trained too little
UNDERFITTED = 95.0


class Trained(nn.Module, ABC):
    """A class-incremental learner on images.

    A method says what a session adds (:meth:`grow`), how it is trained (:meth:`session`) and how
    images are scored (:meth:`predict`).  State is what a torch module holds, and :attr:`kept`.

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    sizes : new classes of each session so far
    network : the backbone
    settings : rate, epochs, batch and weight decay of its training
    feed : training images as batches
    kept : named tensors of any shape that the method keeps beside its modules
    trained : names of the parameters trained so far
    measured : what the last session's training showed
    """

    name: ClassVar[str]
    trains_network: ClassVar[bool] = True  # a frozen network is left out of the state

    def __init__(self, setup: Setup, settings: Training, seed: int) -> None:
        super().__init__()
        self.setup, self.settings = setup, settings
        self.seed = check_int("seed", seed, least=0)
        network: Any = copy.deepcopy(setup.network).eval().requires_grad_(False)
        if not hasattr(network, "patch_embed"):  # convolutions are a third faster so
            network = network.to(memory_format=torch.channels_last)
        self.network = network
        self.width: int = network.num_features
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.sizes: list[int] = []
        self.kept: dict[str, Tensor] = {}
        self.trained: set[str] = set()
        self.measured: dict[str, Any] = {}
        self.feed = Feed(setup, self.rng, self.columns)
        self._failure = ""
        self.to(setup.device)

    # What a method says.

    @abstractmethod
    def grow(self, new: int) -> None:
        """Add the modules of ``new`` classes; their draws come from :meth:`torch_rng`."""

    @abstractmethod
    def session(self, rows: NDArray[np.int64]) -> Iterator[Phase]:
        """Yield the phases of a session; what stands between two yields is done between them."""

    @abstractmethod
    def predict(self, x: Tensor) -> Tensor:
        """Return scores (b, c) of input x (b, 3, s, s), each image's by itself."""

    def check(self, new: int) -> None:
        """Raise InputError where ``new`` more classes cannot be learned; called before anything changes."""

    def exemplars(self) -> int:
        """Return the number of training images kept."""
        return 0

    def others(self) -> Mapping[str, Callable[[Tensor], Tensor]]:
        """Return further ways to predict, by name, whose accuracy a run states beside the method's."""
        return {}

    def scores(self, images: Images) -> NDArray[np.float32]:
        """Return scores (n, c) of images; for methods that need not compute everything anew."""
        return self.score(self.predict, images)

    # What all do.

    def fit_session(self, rows: NDArray[np.integer]) -> None:
        """Learn the next session from ``rows`` (n,) of the training images.

        Raises
        ------
        InputError
            No images, a row that does not exist, a class of an earlier session, too small a memory:
            the learner stays as it was.
        NumericalError
            The loss is not finite; the learner cannot be used further.
        """
        where = f"{self.name}, session {self.number + 1}"
        self._check_usable()
        chosen = np.asarray(rows)
        check_rows(chosen, self.setup.train, self.classes, where)
        chosen = chosen.astype(np.int64)
        new = np.unique(self.setup.train.labels[chosen])
        self.check(len(new))
        self.classes = np.concatenate([self.classes, new])
        self.begin(len(new))
        for phase in self.session(chosen):
            self._count(phase)
            try:
                self.measured["loss"] = self._train(phase, where)
            except NumericalError as error:
                self._failure = str(error)
                raise
        self.measured |= self._outcome(chosen, where)

    def begin(self, new: int) -> None:
        """Begin a session of ``new`` classes: :meth:`grow`, on the device."""
        self.sizes.append(new)
        self.grow(new)
        self.to(self.setup.device)

    def logits(self, images: Images) -> NDArray[np.float32]:
        """Return scores (n, c) of images; columns in the order of :attr:`classes`."""
        self._check_usable()
        if not self.sizes:
            raise InputError(
                f"{self.name}: no session was fitted yet, call fit_session before logits."
            )
        return self.scores(images)

    def score(self, predict: Callable[[Tensor], Tensor], images: Images) -> NDArray[np.float32]:
        """Return ``predict`` (n, c) of the plain views of images, in evaluation mode."""
        self.eval()
        return self.feed.scan(predict, images, np.arange(len(images))).numpy()

    def report(self) -> dict[str, Any]:
        """Return what the last session's training showed: loss, accuracy on its images, what is kept."""
        return dict(self.measured)

    # For methods.

    @property
    def number(self) -> int:
        """Sessions begun so far; while one is trained, its number from 1."""
        return len(self.sizes)

    @property
    def first(self) -> int:
        """First column of the newest session."""
        return sum(self.sizes[:-1])

    def rng(self, *names: str | int) -> np.random.Generator:
        """Return the random generator of this method, seed, session and ``names``."""
        return randomness.generator("trained", self.name, self.seed, self.number, *names)

    def torch_rng(self, *names: str | int) -> torch.Generator:
        """Return torch's generator, on the CPU, of this method, seed, session and ``names``."""
        return torch.Generator().manual_seed(int(self.rng(*names).integers(2**62)))

    def columns(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the columns (n,) of the classes of training images."""
        sorter = np.argsort(self.classes)
        labels = self.setup.train.labels[rows]
        return sorter[np.searchsorted(self.classes, labels, sorter=sorter)].astype(np.int64)

    def phase(
        self,
        rows: NDArray[np.int64],
        loss: Callable[[Batch], Tensor],
        *groups: dict[str, Any],
        name: str = "training",
        views: str = "",
        **more: Any,
    ) -> Phase:
        """Return the phase that trains ``groups`` on training images with the method's settings.

        ``views`` names the draws of views and batches; ``more`` are further attributes of the phase.
        """
        epochs = more.pop("epochs", self.settings.epochs)
        batches = self.feed.epochs_of(rows, self.settings.batch, views)
        return Phase(name, batches, len(rows), list(groups), loss, epochs, **more)

    def scan(self, function: Callable[[Tensor], Tensor], rows: NDArray[np.integer]) -> Tensor:
        """Return ``function`` (n, ...) of the plain views of training images, on the CPU in float32."""
        self.eval()
        return self.feed.scan(function, self.setup.train, rows)

    def _check_usable(self) -> None:
        if self._failure:
            raise NumericalError(f"An earlier session failed, build a new learner: {self._failure}")

    def _count(self, phase: Phase) -> None:
        """Count the parameters trained: those of this phase, or all so far if more."""
        declared = {id(parameter) for parameter in phase.parameters}
        named = list(self.named_parameters())
        self.trained |= {key for key, parameter in named if id(parameter) in declared}
        so_far = sum(parameter.numel() for key, parameter in named if key in self.trained)
        now = sum(parameter.numel() for parameter in phase.parameters)
        most = max(now, so_far, self.measured.get("trainable_parameters", 0))
        self.measured["trainable_parameters"] = most

    def _outcome(self, rows: NDArray[np.int64], where: str) -> dict[str, Any]:
        """Return what the session's images ``rows`` (n,) show after its training; a low accuracy is logged.

        ``training_accuracy`` is the percentage that is right among the session's classes.
        """
        scores = self.scan(self.predict, rows).numpy()[:, self.first :]
        right = np.argmax(scores, axis=1) == self.columns(rows) - self.first
        accuracy = 100 * float(np.mean(right))
        if accuracy < UNDERFITTED:
            logger.warning(
                "%s: underfitted, %.1f%% of its own images; raise epochs or rate.", where, accuracy
            )
        return {
            "training_accuracy": accuracy,
            "underfitted": accuracy < UNDERFITTED,
            "exemplars": self.exemplars(),
        }

    def _train(self, phase: Phase, where: str) -> float:
        """Carry out a phase and return the mean loss of its last epoch."""
        seed = int(self.rng("phase", phase.name).integers(2**62))
        return loop.train(
            phase, self, f"{where}, {phase.name}", seed, self.setup.device, self.setup.precision
        )
