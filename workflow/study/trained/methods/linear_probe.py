"""Linear probe: a linear head on the frozen network, trained on the images of all classes seen.

Not incremental, and no method: what gradient steps reach on features alone, with augmentation.  It
differs from `joint` in one thing, the network stays as it is.  The rate is ten times that of
`joint`, since a head alone bears it.
Cost: one forward pass for every image seen so far and epoch.  Trains (D + 1) K parameters.
"""

from dataclasses import dataclass

from study.trained.methods.joint import Joint


@dataclass(eq=False, repr=False)
class LinearProbe(Joint):
    """`Joint` with a frozen network, and with its settings."""

    rate: float = 1e-2
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    seed: int = 0
    name = "linear-probe"
    trains_network = False


build = LinearProbe
