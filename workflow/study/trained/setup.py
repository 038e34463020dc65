"""What all trained methods need to be built: network, images, view, device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from sparcl.base.checks import check_choice, check_int
from sparcl.base.errors import InputError
from study.trained import loop
from study.trained.images import Images, View, check_images


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
        check_choice("device", self.device, ("cpu", "cuda"))
        check_choice("precision", self.precision, loop.PRECISIONS)
        check_int("batch", self.batch, least=1)
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("device = 'cuda', but torch sees no CUDA device; set it to 'cpu'.")
