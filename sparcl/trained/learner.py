"""The learner that trains on images: what a method says, and what all methods share."""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sparcl.base import randomness
from sparcl.base.checks import check_choice, check_int
from sparcl.base.errors import InputError, NumericalError
from sparcl.trained import loop
from sparcl.trained.images import Images, View, check_images
from sparcl.trained.phase import Phase

logger = logging.getLogger(__name__)

# percent; a session whose own images are classified worse was trained too little
UNDERFITTED = 95.0


@dataclass(frozen=True)
class Setup:
    """What all methods need to be built.

    Attributes
    ----------
    network : timm model without classifier: images (b, 3, s, s) to features (b, D); it is copied
    train : all training images; a learner looks at the rows of its sessions only
    view : how images become input
    device : cpu or cuda
    precision : of training, float32 or bfloat16 (mixed); scores, exemplars and prototypes rest on float32
    batch : images of a forward pass outside training
    """

    network: nn.Module
    train: Images
    view: View
    device: str = "cpu"
    precision: str = "float32"
    batch: int = 64

    def __post_init__(self) -> None:
        check_images(self.train, "training images")
        check_choice("precision", self.precision, loop.PRECISIONS)
        check_int("batch", self.batch, least=1)
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("device = 'cuda', but torch sees no CUDA device; set it to 'cpu'.")


class Batch(NamedTuple):
    """Images x (b, 3, s, s), the columns y (b,) of their classes, and their rows (b,)."""

    x: Tensor
    y: Tensor
    rows: NDArray[np.int64]


class Trained(nn.Module, ABC):
    """A class-incremental learner on images.

    A method says what a session adds (:meth:`grow`), how it is trained (:meth:`session`) and how
    images are scored (:meth:`predict`).  State is what a torch module holds, and :attr:`kept`.

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    sizes : new classes of each session so far
    network : the backbone
    kept : named tensors of any shape that the method keeps beside its modules
    """

    name: ClassVar[str]
    trains_network: ClassVar[bool] = True  # a frozen network is left out of the state

    def __init__(self, setup: Setup, seed: int) -> None:
        super().__init__()
        self.setup, self.seed = setup, check_int("seed", seed, least=0)
        network: Any = copy.deepcopy(setup.network).eval().requires_grad_(False)
        self.network = network
        self.width: int = network.num_features
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.sizes: list[int] = []
        self.kept: dict[str, Tensor] = {}
        self._trained: set[str] = set()
        self._report: dict[str, Any] = {}
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
        chosen = self._checked(rows, where)
        new = np.unique(self.setup.train.labels[chosen])
        self.check(len(new))
        self.classes = np.concatenate([self.classes, new])
        self._grow(len(new))
        for phase in self.session(chosen):
            self._count(phase)
            try:
                self._report["loss"] = self._train(phase, where)
            except NumericalError as error:
                self._failure = str(error)
                raise
        accuracy = self._accuracy(chosen)
        self._report["training_accuracy"] = accuracy
        self._report["underfitted"] = accuracy < UNDERFITTED
        self._report["exemplars"] = self.exemplars()
        if accuracy < UNDERFITTED:
            logger.warning(
                "%s: underfitted, %.1f%% of its own images; raise epochs or rate.", where, accuracy
            )

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
        return self._scan(predict, images, np.arange(len(images))).numpy()

    def report(self) -> dict[str, Any]:
        """Return what the last session's training showed: loss, accuracy on its images, what is kept."""
        return dict(self._report)

    def state(self) -> dict[str, Any]:
        """Return all that the learner needs to go on: tensors on the CPU, numbers and strings."""
        tensors = {
            key: value.detach().cpu().clone()
            for key, value in self.state_dict().items()
            if self.trains_network or not key.startswith("network.")
        }
        return {
            "method": self.name,
            "sizes": list(self.sizes),
            "classes": self.classes.tolist(),
            "tensors": tensors,
            "kept": {key: value.cpu().clone() for key, value in self.kept.items()},
            "trained": sorted(self._trained),
            "report": dict(self._report),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on where :meth:`state` was taken, on a new learner of the same settings and network.

        Raises
        ------
        InputError
            The state is another method's, or the learner is not new.
        """
        if state["method"] != self.name or self.sizes:
            raise InputError(
                f"A state of {state['method']} does not fit a {self.name} learner after {len(self.sizes)} "
                "sessions: load it into a new learner of the method that saved it."
            )
        for size in state["sizes"]:
            self._grow(size)
        missing, unexpected = self.load_state_dict(state["tensors"], strict=False)
        foreign = [key for key in missing if self.trains_network or not key.startswith("network.")]
        if foreign or unexpected:
            raise InputError(
                f"This state of {self.name} does not fit: {', '.join([*foreign, *unexpected][:3])}. Build the "
                "learner with the network and settings that it was saved with."
            )
        self.classes = np.array(state["classes"], dtype=np.int64)
        self.kept = {key: value.to(self.setup.device) for key, value in state["kept"].items()}
        self._trained, self._report = set(state["trained"]), dict(state["report"])

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

    def augmented(self, rows: NDArray[np.integer], *names: str | int) -> Batch:
        """Return augmented views of training images; ``names`` decide, with the place in the batch, each view."""
        seeds = self.rng("view", *names).integers(2**62, size=len(rows))
        return self._batch(rows, seeds)

    def epochs_of(
        self, rows: NDArray[np.int64], size: int, phase: str = ""
    ) -> Callable[[int], Iterator[Batch]]:
        """Return epoch to shuffled batches of augmented images; the last batch may be smaller.

        The view of an image depends on seed, session, phase, epoch and row, and not on its batch.
        """

        def batches(epoch: int) -> Iterator[Batch]:
            rng = self.rng("epoch", phase, epoch)
            order, seeds = rng.permutation(len(rows)), rng.integers(2**62, size=len(rows))
            for start in range(0, len(rows), size):
                chosen = order[start : start + size]
                yield self._batch(rows[chosen], seeds[chosen])

        return batches

    def scan(self, function: Callable[[Tensor], Tensor], rows: NDArray[np.integer]) -> Tensor:
        """Return ``function`` (n, ...) of the plain views of training images, on the CPU in float32."""
        return self._scan(function, self.setup.train, rows)

    def _check_usable(self) -> None:
        if self._failure:
            raise NumericalError(f"An earlier session failed, build a new learner: {self._failure}")

    def _count(self, phase: Phase) -> None:
        """Count the parameters trained: those of this phase, or all of the learner's so far if more."""
        declared = {id(parameter) for parameter in phase.parameters}
        named = list(self.named_parameters())
        self._trained |= {key for key, parameter in named if id(parameter) in declared}
        so_far = sum(parameter.numel() for key, parameter in named if key in self._trained)
        now = sum(parameter.numel() for parameter in phase.parameters)
        most = max(now, so_far, self._report.get("trainable_parameters", 0))
        self._report["trainable_parameters"] = most

    def _accuracy(self, rows: NDArray[np.int64]) -> float:
        """Return the percentage of a session's images that are right among the session's classes."""
        scores = self.scan(self.predict, rows).numpy()[:, self.first :]
        return 100 * float(np.mean(np.argmax(scores, axis=1) == self.columns(rows) - self.first))

    def _grow(self, new: int) -> None:
        self.sizes.append(new)
        self.grow(new)
        self.to(self.setup.device)

    def _checked(self, rows: NDArray[np.integer], where: str) -> NDArray[np.int64]:
        rows = np.asarray(rows)
        if not len(rows):
            raise InputError(
                f"{where}: no images. Usual cause: a class without training image in the order of classes; "
                "remove it from the data set or add images."
            )
        if rows.min() < 0 or rows.max() >= len(self.setup.train):
            raise InputError(
                f"{where}: rows reach from {rows.min()} to {rows.max()}, and there are "
                f"{len(self.setup.train)} training images. Give rows of those the learner was built with."
            )
        returned = np.intersect1d(self.setup.train.labels[rows], self.classes)
        if len(returned):
            raise InputError(
                f"{where}: class {returned[0]} came in an earlier session. Every session must bring new "
                "classes only: give all images of a class in one session."
            )
        return rows.astype(np.int64)

    def _batch(self, rows: NDArray[np.integer], seeds: NDArray[np.integer]) -> Batch:
        pixels = [self.setup.train.pixels[row] for row in rows]
        x = self.setup.view.augmented(pixels, seeds, self.setup.device)
        return Batch(x, torch.from_numpy(self.columns(rows)).to(x.device), np.asarray(rows))

    def _scan(
        self, function: Callable[[Tensor], Tensor], images: Images, rows: NDArray[np.integer]
    ) -> Tensor:
        self.eval()
        parts = []
        with torch.inference_mode():
            for start in range(0, len(rows), self.setup.batch):
                pixels = [images.pixels[row] for row in rows[start : start + self.setup.batch]]
                parts.append(
                    function(self.setup.view.plain(pixels, self.setup.device)).float().cpu()
                )
        return torch.cat(parts) if parts else torch.zeros(0)

    def _train(self, phase: Phase, where: str) -> float:
        """Carry out a phase and return the mean loss of its last epoch."""
        seed = int(self.rng("phase", phase.name).integers(2**62))
        return loop.train(
            phase, self, f"{where}, {phase.name}", seed, self.setup.device, self.setup.precision
        )
