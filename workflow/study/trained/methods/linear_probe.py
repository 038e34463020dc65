"""Linear probe: a linear head on the frozen network, trained on the images of all classes seen.

Not incremental, and no method: what gradient steps reach on features alone, with augmentation.  It
differs from `joint` in one thing, the network stays as it is.  The rate is ten times that of
`joint`, since a head alone bears it.
Cost: one forward pass for every image seen so far and epoch.  Trains (D + 1) K parameters.
"""

from study.trained.methods.joint import Joint
from study.trained.phase import Training
from study.trained.setup import Setup


class LinearProbe(Joint):
    """`Joint` with a frozen network."""

    name = "linear-probe"
    trains_network = False


def build(
    setup: Setup,
    *,
    rate: float = 1e-2,
    epochs: int = 20,
    batch: int = 128,
    decay: float = 5e-4,
    seed: int = 0,
) -> LinearProbe:
    """Build the learner.

    Parameters
    ----------
    setup : network, images and device
    rate, epochs, batch, decay : of the training
    seed : of head, batches and views
    """
    return LinearProbe(setup, Training(rate, epochs, batch, decay), "seen", seed)
