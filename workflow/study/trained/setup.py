"""What all trained methods need to be built: network, images, view, device."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from study.trained.images import Images, View


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
