"""Fine-tuning: the whole network and a growing linear head, cross-entropy on the session's images.

loss = CE over the columns of the session (``logits="new"``, called FT++ elsewhere) or over all
columns seen (``"seen"``, plain FT).  Nothing is kept, so that old classes are forgotten: the lower
reference.  With all classes in one session it is joint training.
Source: ``models/finetune.py`` of LAMDA-PILOT, commit 2647455.  Settings there: SGD with momentum
0.9, rate 0.001, weight decay 5e-4 in the first session and 2e-4 later, 20 epochs, batches of 128;
its milestones 60 and 80 lie beyond the last epoch, so that the rate is constant.  Weight decay
shrinks old rows of the head too, which have no gradient.

Differences: the head, which starts at random, learns at 0.01 and the network at a hundredth of that, as in
`slca`.  At one rate for both, joint training ended below a linear probe on frozen features.  BatchNorm
keeps its pretrained statistics: those of small batches are noisy.
Cost: 3 forward passes an image and epoch.  Trains P + (D + 1) K parameters.
"""

from dataclasses import dataclass

from sparcl.base.checks import check_choice
from study.trained.growing import Growing
from study.trained.learner import Phases, Rows


@dataclass(eq=False, repr=False)
class Finetune(Growing):
    """Network and head under cross-entropy.

    Parameters
    ----------
    logits : "new" (cross-entropy over the session's classes) or "seen" (over all classes so far)
    """

    rate: float = 0.01
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    slow: float = 0.01
    logits: str = "new"
    seed: int = 0
    name = "finetune"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("logits", self.logits, ("new", "seen"))

    def session(self, rows: Rows) -> Phases:
        """Train all on the session's images."""
        first = self.first if self.logits == "new" else 0
        yield self.phase(rows, lambda batch: self.cross_entropy(batch, first), *self.everything())


build = Finetune
