"""Fine-tuning of the head alone: softmax regression on the new classes, the old ones left to decay.

loss = cross-entropy over the logits f W + b of the session's *new* columns.
A surrogate.  The row "Finetune" of the field trains the whole network (``models/finetune.py`` of
LAMDA-PILOT, commit 2647455); on frozen features only its head is left, so that a number of this
method is no number of that row.

Official settings, the defaults: SGD with momentum 0.9, rate 1e-3 (its steps lie beyond the last
epoch), 20 epochs, batches of 128, weight decay 5e-4 in the first session and 2e-4 after, head
drawn from U(-sqrt(3 / d), sqrt(3 / d)) with zero bias; CIFAR-100 and ImageNet-R alike.  They belong to
features of LayerNorm's scale: ``scale``.  There is no augmentation, which needs images.  Samples of
old classes are passed over, where the code knows none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparcl.base.checks import check_int
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.types import Array
from study import softmax

MOMENTUM = 0.9
DECAYS = (5e-4, 2e-4)  # weight decay of the first session, and of later ones


@dataclass(eq=False)
class FtHead(softmax.SoftmaxHead):
    """A session costs 4 n d c_new epochs flops; keeps the head (d + 1, c).

    Parameters
    ----------
    rate, epochs, batch : of the training (official 1e-3, 20, 128)
    scale : features are multiplied by it; "root-d" (sqrt(d)) gives unit-norm features the scale
        that the official rate was set for
    seed : of the new columns and of the batches
    """

    rate: float = 1e-3
    epochs: int = 20
    batch: int = 128
    scale: float | str = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("batch", self.batch, least=1)

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if classes == old:
            raise InputError(
                "the session brings no new class, and this head is trained on new classes alone: "
                "join it with a session that does."
            )
        d, new = Phi.shape[1], columns >= old
        rng = generator("ft-head", self.seed, self.session)
        bound = np.sqrt(3 / d)
        drawn = rng.uniform(-bound, bound, (d, classes - old))
        W = np.hstack([self.weights.reshape(d, old), drawn])
        b = np.concatenate([self.bias, np.zeros(classes - old)])
        softmax.train(
            W,
            b,
            self.scaled(Phi)[new],
            columns[new],
            first=old,
            rates=[self.rate] * self.epochs,
            batch=self.batch,
            momentum=MOMENTUM,
            decay=DECAYS[self.session > 0],
            rng=rng,
        )
        self.weights, self.bias = softmax.finite(W, b)


build = FtHead
