"""The learner that trains on images: what a method says, and what all methods share."""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparcl.base import randomness
from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError
from study.trained import phase as training
from study.trained.images import Images
from study.trained.phase import Phase
from study.trained.setup import Setup

Rows = NDArray[np.int64]  # numbers (n,) of training images
Phases = Iterator[Phase]
Others = Mapping[str, tuple[Callable[[Tensor], Tensor], NDArray[np.integer]]]
logger = logging.getLogger(__name__)

# percent; a session whose own images are classified worse was trained too little
UNDERFITTED = 95.0
TENSORS, KEPT = "tensors/", "kept/"  # in the names of a state
LARGEST = 1e30  # of a setting: torch multiplies rates and decays in float32


class Batch(NamedTuple):
    """Images x (b, 3, s, s), the columns y (b,) of their classes, and their rows (b,)."""

    x: Tensor
    y: Tensor
    rows: Rows


@dataclass(eq=False, repr=False)
class Trained(nn.Module, ABC):
    """A class-incremental learner on images: a dataclass of its settings.

    A method says what a session adds (:meth:`grow`), how it is trained (:meth:`session`) and how
    images are scored (:meth:`predict`).  State is what a torch module holds, and :attr:`kept`.

    Parameters
    ----------
    setup : network, images and device
    rate, epochs, batch : learning rate, epochs and batch size of the training
    decay, slow : weight decay, and the network's rate in units of ``rate``, 0 freezes it; settings of some methods
    seed : of all draws: of modules, heads, batches and views, and of what a method adds

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    sizes : new classes of each session so far
    network : the backbone
    d : dimension of its features
    kept : named tensors of any shape that the method keeps beside its modules
    trained : names of the parameters trained so far
    measured : what the last session's training showed
    """

    setup: Setup
    rate: float
    epochs: int
    batch: int
    seed: int
    decay = 0.0
    slow = 0.0
    name: ClassVar[str]
    trains_network: ClassVar[bool] = True  # a frozen network is left out of the state

    def __post_init__(self) -> None:
        super().__init__()
        self.above_zero("rate")
        self.at_least(1, "epochs", "batch")
        self.at_least(0, "seed")
        self.from_zero("decay", "slow")
        network: Any = copy.deepcopy(self.setup.network).eval().requires_grad_(False)
        if not hasattr(network, "patch_embed"):  # convolutions are a third faster so
            network = network.to(memory_format=torch.channels_last)
        self.network = network
        self.d: int = network.num_features
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.sizes: list[int] = []
        self.kept: dict[str, Tensor] = {}
        self.trained: set[str] = set()
        self.measured: dict[str, Any] = {}
        self.to(self.setup.device)

    # What a method says.

    @abstractmethod
    def grow(self, new: int) -> None:
        """Add the modules of ``new`` classes; their draws come from :meth:`torch_rng`."""

    @abstractmethod
    def session(self, rows: Rows) -> Phases:
        """Yield the phases of a session; what stands between two yields is done between them."""

    @abstractmethod
    def predict(self, x: Tensor) -> Tensor:
        """Return scores (b, c) of input x (b, 3, s, s), each image's by itself."""

    def check(self, new: int) -> None:
        """Raise InputError where ``new`` more classes cannot be learned; called before anything changes."""

    def exemplars(self) -> int:
        """Return the number of training images kept."""
        return 0

    def others(self) -> Others:
        """Return further choices by name, whose accuracy a run states: scores, and each class's right column (c,)."""
        return {}

    # What all do.

    def fit_session(self, rows: NDArray[np.integer]) -> None:
        """Learn the next session from ``rows`` (n,) of the training images, all those of some new classes.

        Raises
        ------
        InputError
            A class of an earlier session, too small a memory: the learner stays as it was.
        NumericalError
            The loss is not finite; the learner cannot be used further.
        """
        where = f"{self.name}, session {self.number + 1}"
        chosen = np.asarray(rows, dtype=np.int64)
        new = np.unique(self.setup.train.labels[chosen])
        if len(again := np.intersect1d(new, self.classes)):
            raise InputError(
                f"{where}: class {again[0]} came in an earlier session: give all its images in one session."
            )
        self.check(len(new))
        self.begin(new)
        for phase in self.session(chosen):
            self._count(phase)
            self.measured["loss"] = self._train(phase, where)
        self.measured |= self._outcome(chosen, where)

    def begin(self, new: NDArray[np.integer]) -> None:
        """Begin a session of the classes ``new``, ascending: :meth:`grow`, on the device."""
        self.classes = np.concatenate([self.classes, new])
        self.sizes.append(len(new))
        self.grow(len(new))
        self.to(self.setup.device)

    def scores(self, images: Images) -> NDArray[np.float32]:
        """Return scores (n, c) of images; columns in the order of :attr:`classes`."""
        return self.scan(self.predict, images).numpy()

    def scan(self, function: Callable[[Tensor], Tensor], images: Images) -> Tensor:
        """Return ``function`` (n, ...) of the plain views of images, in evaluation mode, on the CPU in float32."""
        self.eval()
        size, device, parts = self.setup.batch, self.setup.device, []
        with torch.inference_mode():
            for start in range(0, len(images), size):
                x = self.setup.view.plain(images.pixels[start : start + size], device)
                parts.append(function(x).float().cpu())
        return torch.cat(parts) if parts else torch.zeros(0)

    def state(self) -> dict[str, Tensor]:
        """Return what was learned, by name: tensors of modules, but for a network that stays, and what is kept."""
        tensors = {
            TENSORS + key: tensor
            for key, tensor in self.state_dict().items()
            if self.trains_network or not key.startswith("network.")
        }
        return tensors | {KEPT + key: tensor for key, tensor in self.kept.items()}

    def load(self, state: Mapping[str, Tensor], sessions: Sequence[NDArray[np.integer]]) -> None:
        """Bring a new learner, of the same settings, to a state after ``sessions`` of classes.

        Raises
        ------
        InputError, RuntimeError
            The state has not the tensors of these sessions, or one has another shape.
        """
        for session in sessions:
            self.begin(np.sort(session))
        tensors, self.kept = (
            {
                key.removeprefix(prefix): tensor.to(self.setup.device)
                for key, tensor in state.items()
                if key.startswith(prefix)
            }
            for prefix in (TENSORS, KEPT)
        )
        wrong = sorted(self.state().keys() ^ state.keys())
        if wrong:
            raise InputError(f"it lacks, or has without need, {', '.join(wrong[:3])}")
        self.load_state_dict(tensors, strict=False)

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

    def at_least(self, least: int, *names: str) -> None:
        """Raise InputError unless the settings ``names`` are integers of at least ``least``."""
        for name in names:
            setattr(self, name, check_int(name, getattr(self, name), least=least))

    def from_zero(self, *names: str) -> None:
        """Raise InputError unless the settings ``names`` are numbers of at least zero that float32 can multiply."""
        for name in names:
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not 0 <= value <= LARGEST:
                raise InputError(f"{name} = {value!r}: it must be a number from 0 to {LARGEST:g}.")

    def above_zero(self, *names: str) -> None:
        """Raise InputError unless the settings ``names``, rates for instance, are positive numbers."""
        self.from_zero(*names)
        for name in names:
            check_positive(name, getattr(self, name))

    def columns(self, rows: Rows) -> NDArray[np.int64]:
        """Return the columns (n,) of the classes of training images."""
        return self.columns_of(self.setup.train.labels[rows])

    def columns_of(self, labels: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the columns (n,) of the classes ``labels`` (n,)."""
        sorter = np.argsort(self.classes)
        return sorter[np.searchsorted(self.classes, labels, sorter=sorter)].astype(np.int64)

    def augmented(self, rows: Rows, *names: str | int) -> Batch:
        """Return augmented views of training images; ``names`` decide, with the place in the batch, each view."""
        return self._batch(rows, self.rng("view", *names).integers(2**62, size=len(rows)))

    def group(self, *modules: nn.Module, share: float = 1.0, decay: float = 1.0) -> dict[str, Any]:
        """Return the parameter group of modules, at ``share`` of the rate and ``decay`` of the weight decay."""
        parameters = [parameter for module in modules for parameter in module.parameters()]
        return {"params": parameters, "lr": share * self.rate, "weight_decay": decay * self.decay}

    def two_rates(self, head: nn.Module, decay: float = 1.0) -> list[dict[str, Any]]:
        """Return the groups of a head and of the network, which learns slowly or not at all."""
        groups = [self.group(head, decay=decay)]
        if self.slow:
            groups.append(self.group(self.network, share=self.slow, decay=decay))
        return groups

    def phase(
        self,
        rows: Rows,
        loss: Callable[[Batch], Tensor],
        *groups: dict[str, Any],
        name: str = "training",
        views: str = "",
        **more: Any,
    ) -> Phase:
        """Return the phase that trains ``groups`` on training images with the method's settings.

        Batches are shuffled and augmented, the last may be smaller; the view of an image depends on
        seed, session, ``views``, epoch and row, and not on its batch.  ``more`` are further
        attributes of the phase.
        """

        def batches(epoch: int) -> Iterator[Batch]:
            rng = self.rng("epoch", views, epoch)
            order, seeds = rng.permutation(len(rows)), rng.integers(2**62, size=len(rows))
            for start in range(0, len(rows), self.batch):
                chosen = order[start : start + self.batch]
                yield self._batch(rows[chosen], seeds[chosen])

        more = {"epochs": self.epochs} | more
        return Phase(name, batches, len(rows), list(groups), loss, **more)

    def train_scan(self, function: Callable[[Tensor], Tensor], rows: Rows) -> Tensor:
        """Return ``function`` (n, ...) of the plain views of training images, as :meth:`scan`."""
        return self.scan(function, self.setup.train.subset(rows))

    def _batch(self, rows: Rows, seeds: NDArray[np.integer]) -> Batch:
        setup = self.setup
        x = setup.view.augmented(setup.train.subset(rows).pixels, seeds, setup.device)
        return Batch(x, torch.from_numpy(self.columns(rows)).to(x.device), rows)

    def _count(self, phase: Phase) -> None:
        """Count the parameters trained: those of this phase's groups, or all so far if more."""
        declared = {id(parameter) for parameter in phase.parameters}
        named = list(self.named_parameters())
        self.trained |= {key for key, parameter in named if id(parameter) in declared}
        so_far = sum(parameter.numel() for key, parameter in named if key in self.trained)
        now = sum(parameter.numel() for parameter in phase.parameters)
        most = max(now, so_far, self.measured.get("trainable_parameters", 0))
        self.measured["trainable_parameters"] = most

    def _outcome(self, rows: Rows, where: str) -> dict[str, Any]:
        """Return what the session's images ``rows`` (n,) show after its training; a low accuracy is logged.

        ``training_accuracy`` is the percentage that is right among the session's classes.
        """
        scores = self.train_scan(self.predict, rows).numpy()[:, self.first :]
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
        return training.train(
            phase, self, f"{where}, {phase.name}", seed, self.setup.device, self.setup.precision
        )
