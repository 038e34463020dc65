"""RanDumb: a random map, then linear discriminant analysis with OAS shrinkage.

score_c(f) = h^T L mu_c - mu_c^T L mu_c / 2 + log(n_c / n),    L = ((1 - rho) S / n + rho m I)^-1
with h = sqrt(2 / M) cos(f W + b), W ~ N(0, 2 gamma), gamma = 1 / (d var(f)) (scikit-learn's
``RBFSampler`` with gamma = "scale"), or RanPAC's h = relu(f W); S the scatter inside the classes,
m its mean variance and rho the oracle approximating shrinkage of S / n.
Source: RanDumb (NeurIPS 2024), ``src/main.py`` of drimpossible/RanDumb, commit 14a51ee.  Official:
M = 10,000 for every data set (1,000 to 25,000 in the paper), features as they are.

What differs.  The code fits scikit-learn's LDA offline and so shrinks each class's covariance by
itself before it averages them; here the average is shrunk, from sums, once a session, as the
paper's online form does with one covariance.  gamma is taken from the first session, not from all
training samples at once.  The flip augmentation needs images and is left out; accuracy there is
the mean over classes.
"""

from sparcl.base.checks import check_choice
from sparcl.learners.composed import Composed
from sparcl.parts.heads import OracleShrinkage
from sparcl.parts.maps import FourierMap, Map, RandomMap


def build(*, width: int = 10000, embedding: str = "rbf", seed: int = 0) -> Composed:
    """Build the learner: n M^2 + M^3 / 3 + 2 M^2 c flops a session of n samples.

    Parameters
    ----------
    width : M, outputs of the map (official 10,000)
    embedding : ``rbf`` (random Fourier features) or ``relu`` (RanPAC's map)
    seed : of the map
    """
    check_choice("embedding", embedding, ("rbf", "relu"))
    layer: Map = (
        FourierMap(width, seed, "variance") if embedding == "rbf" else RandomMap(width, seed)
    )
    return Composed(map=layer, head=OracleShrinkage())
