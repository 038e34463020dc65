"""What all trained methods need to be built: network, images, view, device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sparcl.base.checks import check_choice, check_int
from sparcl.base.errors import InputError
from study.trained.images import Images, View, check_images
from study.trained.phase import PRECISIONS


@dataclass(frozen=True)
class Setup:
    """The parts of which all methods are built.

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
        check_choice("device", self.device, ("cpu", "cuda"))
        check_choice("precision", self.precision, PRECISIONS)
        check_int("batch", self.batch, least=1)
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("device = 'cuda', but torch sees no CUDA device; set it to 'cpu'.")

    def check_rows(self, rows: NDArray[np.integer], seen: NDArray[np.int64], where: str) -> None:
        """Raise InputError unless ``rows`` are some training images, and of classes not ``seen`` before."""
        if not len(rows):
            raise InputError(
                f"{where}: no images. Usual cause: a class without training image in the order of classes; "
                "remove it from the data set or add images."
            )
        if rows.min() < 0 or rows.max() >= len(self.train):
            raise InputError(
                f"{where}: rows reach from {rows.min()} to {rows.max()}, and there are "
                f"{len(self.train)} training images. Give rows of those the learner was built with."
            )
        returned = np.intersect1d(self.train.labels[rows], seen)
        if len(returned):
            raise InputError(
                f"{where}: class {returned[0]} came in an earlier session. Every session must bring new "
                "classes only: give all images of a class in one session."
            )
