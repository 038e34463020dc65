"""Joint fine-tuning: in every session the pretrained network anew, on the images of all classes seen.

Not incremental, and no method: the upper reference of those that train the network.  It differs from the
linear probe in one thing, the network learns too, at ``slow`` times the head's rate.  It keeps all images.
Where only the accuracy after the last session counts, one session with all classes gives it
at a fraction of the cost.
Cost: 3 forward passes for every image seen so far and epoch.
"""

from dataclasses import dataclass

from study.trained.methods.linear_probe import LinearProbe


@dataclass(eq=False, repr=False)
class Joint(LinearProbe):
    """The linear probe with a network that learns.

    Parameters
    ----------
    slow : rate of the network in units of the head's
    """

    rate: float = 0.01
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    slow: float = 0.01
    seed: int = 0
    name = "joint"
    trains_network = True


build = Joint
