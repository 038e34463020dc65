"""The methods that compose parts: a row each, of parts, defaults and source.

A row's ``parts`` are those of :data:`sparcl.parts.catalogue.PARTS`, by name or with settings that are fixed, and
``fixed`` those of its rule.  Its ``settings`` are what a user may set, with their defaults; each goes to the
parts that have a field of its name, and to the rule (:mod:`sparcl.methods.compose`).  These mean the same
everywhere:

ridge : lambda; several, which are all solved; or a rule that chooses from ``ridges`` (:func:`sparcl.parts.rules.named`)
relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
validation_share : of a session's rows, or with ``by_class`` of each class's, that a rule holds out
width : M, outputs of the map
seed : of the map, of random directions and of hold-outs
dtype : float64 or float32
columns : plain, or unit: each class's weights are scaled to unit norm before they score

Others are described with the part that has them.  A row is plain values: the workflow takes it for a setting of
its method's jobs, so that a new row, or another one's change, lets them rest.
"""

from typing import Any

from sparcl.parts.rules import NARROW, WIDE

FLYCL = (1e6, 1e7, 1e8, 1e9)  # of Fly-CL's scripts
HALF_DECADES = tuple(float(10 ** (power / 2)) for power in range(-12, 3))
UNITS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # in mean squared norms of a row

Row = dict[str, Any]


def _ridge(ridge: float | str, ridges: tuple[float, ...] = WIDE, **others: Any) -> Row:
    """Return the settings of a ridge behind a map, with those that a method has besides."""
    rule = {"ridge": ridge, "ridges": ridges, "relative": False, "validation_share": 0.2}
    return {**rule, **others, "seed": 0, "dtype": "float64", "columns": "plain"}


UNIFORM = {"random": {"draw": "uniform", "activation": "relu"}}
ACIL = {"parts": {"map": UNIFORM}, "settings": _ridge(0.1, width=8192)}
BY_CLASS = {"by_class": True}

METHODS: dict[str, Row] = {
    # W = (R + ridge I)^-1 C on the features: paper eq. 2, "ACIL-style" statistics.  The solution of ACIL's
    # recursion (NeurIPS 2022) without its random buffer, whatever the batches, sessions and class order.  Ridge
    # 1 is the paper's.
    "acil": {
        "parts": {"core": {"spectral": {"k": 0}}},
        "settings": {"ridge": 1.0, "relative": False, "dtype": "float64", "columns": "plain"},
    },
    # ACIL with its hidden layer h = relu(f W), W uniform on (-1/sqrt d, 1/sqrt d).  Its recursion R <- R - R
    # X^T (I + X R X^T)^-1 X R, W <- W + R X^T (Y - X W) from R = I / ridge ends, after any batches, at W = (G +
    # ridge I)^-1 C, which is computed here without an M x M inverse.  Source: ACIL (NeurIPS 2022),
    # Analytic-continual-learning, commit 0afd6bf.  Official: ridge 0.1; M = 8,192 (CIFAR-100), 16,384
    # (ImageNet-1k); float64; features as they are.  W has variance 1 / (3 d): its ridge 0.1 is one of 0.3 d on
    # the scale of RanPAC's map.
    "acil-rhl": ACIL,
    # AIR: ACIL with classes weighted equally, W = (sum_c pi_c A_c + ridge I)^-1 C diag(pi), A_c the sum of h^T h
    # over class c, N_c its samples, pi_c = K / N_c / sum_j 1 / N_j.  A complete class adds A_c / N_c and C_c /
    # N_c to running sums S and D, and W = (S + ridge / kappa I)^-1 D with kappa = K / sum_j 1 / N_j: M^2
    # numbers where the public code keeps K M^2.  A class must be complete in its session; the public code keeps
    # every A_c and can wait.  Source: AIR (2024), Analytic-continual-learning, commit 0afd6bf.  Official: as
    # ACIL, which it is with equal counts.
    "air": {
        "parts": {"map": UNIFORM, "head": "balanced-ridge"},
        "settings": _ridge(0.1, width=8192),
    },
    # Fly-CL: u = f W with sparse W (d, M), the floor(level M) largest signed values kept; ridge_t the value
    # with the smallest generalised cross-validation score on the newest session (``ridge.gcv``, from a
    # tridiagonal form of h h^T in place of a thin SVD of h).  Source: Fly-CL (2025), commit 193b1b8, with the
    # values of its scripts: M = 10,000, 300 nonzeros, level 0.3, ridges 1e6 to 1e9, float32, features as they
    # are.  (The defaults of its argument parser are others: 100, 0.01, 1e4 to 1e9.)  These belong to
    # features of a norm of about 40 and to M = 10,000: on unit-norm features give another one.
    "flycl": {
        "parts": {"map": {"random": {"draw": "sparse", "activation": "topk"}}},
        "settings": _ridge("gcv", FLYCL, width=10000, nonzeros=300, level=0.3),
    },
    # F-OAL: ridge on h = sigmoid(f W), W uniform on (-1/sqrt d, 1/sqrt d).  Its recursion over batches of 10
    # ends at W = (G + ridge I)^-1 C.  f is a fusion of blocks: the mean of the blocks' class tokens, then the
    # final norm (``features: blocks-mean``; official all 12 blocks).  On the last feature alone the id is
    # ``foal-last``.  Source: F-OAL (NeurIPS 2024), commit 73e4ac1.  Official: M = 1,000, ridge 1 (fixed),
    # float64 solve with a float32 head, features as they are; its loader drops the last incomplete batch of
    # training and test samples, and nothing is dropped here. On unit-norm features the inputs of the sigmoid
    # spread by about 1 / sqrt(3 d), where it is almost linear.
    "foal": {
        "parts": {"map": {"random": {"draw": "uniform", "activation": "sigmoid"}}},
        "settings": _ridge(1.0, width=1000),
    },
    # GACL: ACIL for streams in which classes return; on disjoint sessions the same solution, W_t = (G + ridge /
    # passes I)^-1 C.  Source: GACL (NeurIPS 2024), commit fc21369.  Official: M = 5,000, ridge 100, float64,
    # and each batch fed three times (``online_iter``), which multiplies G and C by 3, the same as a third of
    # the ridge; a rule has no use for it.  The paper's split into exposed and unexposed classes is the block
    # form of the same solve.
    "gacl": {
        "parts": {"map": UNIFORM},
        "settings": _ridge(100.0, width=5000) | {"passes": 3},
    },
    # GKEAL: ridge on Gaussian kernels over samples of the first session, which are kept for good.  Source:
    # GKEAL (CVPR 2023) as in Analytic-continual-learning, commit 0afd6bf, without the repeated augmented
    # samples of the few-shot setting.  Official: ridge 0.1, sigma 10, M = 8,192, float64, features as they are.
    # On unit-norm features a sigma of 10 puts all kernels into [0.98, 1], so that the median distance is the
    # default here.  With M above the first session's n the public code makes up centres with unbounded
    # coefficients (``centres = "official"``).
    "gkeal": {
        "parts": {"map": "kernel"},
        "settings": _ridge(0.1, width=8192, sigma="median", kappa=1.0, centres="data"),
    },
    # Kernel LDA: linear discriminant analysis on random Fourier features of the kernel exp(-sigma |f - g|^2),
    #     score_c(f) = -(mu_c - h)^T S^+ (mu_c - h) + h^T S^+ h,    S = sum of (h - mu_y)(h - mu_y)^T.
    # Source: KLDA (AAAI 2025), its class ``KLDA`` as read in public copies; the term that all classes share is
    # left out, which moves no prediction and makes the score linear in h.  M = 5,000 in its scripts; sigma is
    # tuned there for each backbone, on raw features, so that the median rule (1 / (2 kappa^2 m^2)) is this
    # project's. Differences.  The official code centres a batch on the class's *running* mean, which is exact
    # only if a class arrives in one batch; here S is exact whatever the batches.  It inverts with a
    # pseudo-inverse.  With n - c < M samples S is singular, and the two ways part: a pseudo-inverse ignores the
    # directions in which no class has any spread, while a ridge, S + ridge tr(S) / M I, looks at them first, as
    # null-space LDA does.  ``ridge = 0`` is the pseudo-inverse, 9 M^3 flops; the default is a ridge of 1e-4 and
    # a Cholesky factor of M^3 / 3.  An absolute value is another share of S at every scale, width and number of
    # samples.  ``ridge_relative`` takes the place of ``ridge``: a share of tr S / n, the mean squared distance
    # of a sample to its class mean, which needs no other value for another M, n or scale (1 is a rule without a
    # choice); a number, or ``gaussian``.  ``klda-e`` averages several.
    "klda": {
        "parts": {"map": "fourier"},
        "fixed": BY_CLASS,
        "settings": {
            "width": 5000,
            "sigma": "median",
            "kappa": 1.0,
            "ridge": 1e-4,
            "ridge_relative": None,
            "ridges": NARROW,
            "validation_share": 0.2,
            "seed": 0,
        },
    },
    # LayUP on the bundled blocks: W_t = (R + ridge_t I)^-1 C on x = [x_1 ... x_k], each block over its root
    # mean squared norm in the first session, without map or bias; ridge_t by ``folds``, the best mean accuracy
    # over folds of the newest session, beside the sums of the earlier ones.  Source: LayUP (arXiv 2312.08888,
    # 2024), ky-ah/LayUP, commit 7e8e152.  Official: the last six blocks *before* the final norm, 15
    # half-decades from 1e-4 to 1e3 and then 1e-8, float32, adapters on the first session as an option.
    # Differences.  A bundled file has blocks 3, 6, 9 and 12 of a ViT after the final norm: "LayUP, 4 normed
    # blocks".  Norms differ between blocks, and the code leaves the larger ones their weight; here each block
    # counts the same, and the ridge is a share of the mean squared norm of a row.
    "layup": {
        "parts": {"transform": "equal-blocks"},
        "fixed": {"relative": True},
        "settings": {
            "blocks": 4,
            "ridge": "folds",
            "ridges": HALF_DECADES,
            "folds": 4,
            "validation_share": 0.2,
            "seed": 0,
            "dtype": "float64",
            "columns": "plain",
        },
    },
    # [f ; relu(unit(f) W) / sqrt(M)] and the joint ridge in these d + M coordinates: ``sparcl-plus-1`` with
    # both of its parts taken out, at the same total width.  The rest of a gain over it belongs to the
    # residual and to the freeze, not to the wider feature.  Its residual leaves nothing out.
    "linear-relu": {
        "parts": {
            "map": {"residual": {"expansion": "relu", "tau_map": 0.0}},
            "core": {"spectral": {"k": 0}},
        },
        "fixed": BY_CLASS,
        "settings": _ridge(0.1, NARROW, width=2000),
    },
    # RanDumb: a random map (``embedding`` ``rbf``: Fourier features with gamma = 1 / (d var(f)), scikit-learn's
    # ``RBFSampler`` with gamma = "scale"; or ``relu``, RanPAC's), then linear discriminant analysis with OAS
    # shrinkage,
    #     score_c(f) = h^T L mu_c - mu_c^T L mu_c / 2 + log(n_c / n),    L = ((1 - rho) S / n + rho m I)^-1.
    # Source: RanDumb (NeurIPS 2024), ``src/main.py`` of drimpossible/RanDumb, commit 14a51ee.  Official: M =
    # 10,000 for every data set (1,000 to 25,000 in the paper), features as they are.  Differences.  The code
    # fits scikit-learn's LDA offline and so shrinks each class's covariance by itself before it averages them;
    # here the average is shrunk, from sums, once a session, as the paper's online form does.  gamma is taken
    # from the first session, not from all training samples.  The flip augmentation needs images and is left
    # out; accuracy there is the mean over classes.
    "randumb": {
        "parts": {"head": "oracle-shrinkage"},
        "settings": {"width": 10000, "embedding": "rbf", "seed": 0},
    },
    # RanPAC without adapter: h = relu(f W), W standard normal; W_t = (G + ridge_t I)^-1 C with ridge_t the
    # value of {1e-8, ..., 1e8} with the smallest squared error on a random fifth of the newest session.
    # Source: RanPAC (NeurIPS 2023), phase 2, commit 012927f.  Official: M = 10,000, float32, the map drawn with
    # torch seed 1 whatever the run's seed, features as they are; phase 1 (an adapter trained on the first
    # session) needs the backbone and is not here.  The 17 solves are done in the smaller of the primal and the
    # dual (``ridge.holdout``), with the same choice.
    "ranpac": {
        "parts": {"map": {"random": {"draw": "gaussian", "activation": "relu"}}},
        "settings": _ridge("newest", width=10000),
    },
    # REAL's feature-fusion buffer on a frozen backbone, an adaptation of this project: ACIL's map and ridge on
    # the class tokens of several blocks side by side (``features: blocks``).  REAL (2024; second version 2025)
    # trains its backbone on the base classes by two streams and distils it; no code of it is public.  With a
    # frozen backbone what remains of its first version is ACIL, and of its second this buffer.  The number says
    # nothing about REAL itself.
    "real-ffb": ACIL,
    # Streaming linear discriminant analysis: score_c(f) = f^T L mu_c - mu_c^T L mu_c / 2, L = ((1 - e) Sigma +
    # e I)^-1 with e the ``shrinkage``.  Source: Deep SLDA (Hayes and Kanan, CVPR workshops 2020); code read:
    # ``methods/SLDA.py`` of CHEN-YIZHU/GACL, commit fc21369.  Official: e = 1e-4 for every data set, features
    # as they are.  Differences.  The official Sigma starts from the OAS estimate of the first data and then
    # either stays or is updated sample by sample; those updates weigh by the total count in place of the
    # class's, and take a class's first sample about zero, so that Sigma depends on the order.  Here
    # ``covariance`` ``streamed`` is the exact scatter inside the classes over n, from sums; ``frozen`` is the
    # OAS estimate of the first session for ever, as in the code.  L is a Cholesky solve in place of a
    # pseudo-inverse: the two are one, since e > 0.  e means another share of Sigma on unit-norm features than
    # on raw ones; ``ridge_relative``, in its place and that of a frozen covariance, is as in ``klda``.
    "slda": {
        "parts": {},
        "fixed": BY_CLASS,
        "settings": {
            "shrinkage": 1e-4,
            "covariance": "streamed",
            "ridge_relative": None,
            "ridges": NARROW,
            "validation_share": 0.2,
            "seed": 0,
        },
    },
    # SPARCL: W = argmin sum_s ||Phi_s W - Y_s||^2 + ridge ||W||^2 subject to U_core^T W_old = U_core^T W_prev,
    # which keeps old classes' core coordinates.  Source: paper, Lemma 1 and the appendix's block identity;
    # ridge, tau and refresh are the paper's.  ``expansion``: ``none``; ``linear``, m random residual directions
    # drawn anew with each partition; ``relu``, ``topk`` or ``rbf``, a frozen map of m outputs of the
    # unit-normed residual.  ``m`` its width.
    "sparcl": {
        "parts": {"core": "spectral"},
        "fixed": BY_CLASS,
        "settings": {
            "ridge": 1.0,
            "tau": 0.95,
            "k": None,
            "ridges": NARROW,
            "relative": False,
            "validation_share": 0.2,
            "refresh": 2,
            "warmup": 1,
            "condition_limit": None,
            "trust_degrees": None,
            "freeze": True,
            "reappearing": "frozen",
            "new_classes": "full",
            "coupling": "exact",
            "project": False,
            "expansion": "none",
            "m": 0,
            "tau_map": 0.5,
            "update": "auto",
            "seed": 0,
            "dtype": "float64",
            "columns": "plain",
        },
    },
    # Algorithm 1 of the paper as printed: W = U_core [G, 0] + U_res (U_res^T A U_res)^-1 U_res^T C.  It drops
    # the coupling block U_res^T A U_core G from the right-hand side and gives new classes no core coordinates;
    # both contradict the paper's own Lemma 1.  Kept, under its own name, because people will look for it.
    # ``m`` > 0 adds the paper's linear expansion, which halves the ridge along span(Q) and no more (the paper
    # prints 128 and 512).
    "sparcl-alg1": {
        "parts": {"core": {"spectral": {"coupling": "dropped", "new_classes": "residual"}}},
        "fixed": BY_CLASS,
        "settings": {
            "ridge": 1.0,
            "tau": 0.95,
            "k": None,
            "refresh": 2,
            "m": 0,
            "relative": False,
            "seed": 0,
            "dtype": "float64",
        },
    },
    # The second SPARCL+: the mean of the joint ridge's and of linear discriminant analysis's scores on rooted
    # features of unit norm, each in units of its own noise (:class:`sparcl.parts.heads.RidgeDiscriminant`).
    # Both follow from the sums R, C and n at one ridge by one Cholesky factor.  This project's own.  The ridge
    # is in mean squared norms of a row, which is 1 here.
    "sparcl-plus-2": {
        "parts": {"transform": "rooted", "head": "ridge-discriminant"},
        "fixed": {"relative": True, "by_class": True},
        "settings": {
            "ridge": 0.1,
            "ridges": UNITS,
            "validation_share": 0.2,
            "weight": 0.5,
            "seed": 0,
            "dtype": "float64",
        },
    },
    # The first SPARCL+: x(f) = [f ; relu(u W) / sqrt(M)], u = unit(f - U_map U_map^T f), then the constrained
    # ridge of ``sparcl`` in these d + M coordinates with the core in the linear ones.  U_map holds ``tau_map``
    # of the base session's energy and stays for ever; the frozen core holds ``tau`` of the energy of the
    # previous sessions.  The ridge is chosen in each session by the accuracy that held-out sums predict: of the
    # rules compared on splits of the training samples (docs/methods.md) it was the steadiest.  This project's
    # own: the paper leaves a nonlinear expansion inside the residual as future work.
    "sparcl-plus-1": {
        "parts": {"map": "residual", "core": "spectral"},
        "fixed": BY_CLASS,
        "settings": {
            "ridge": "gaussian",
            "tau": 0.5,
            "k": None,
            "ridges": NARROW,
            "relative": False,
            "validation_share": 0.2,
            "refresh": 1,
            "freeze": True,
            "expansion": "relu",
            "tau_map": 0.5,
            "width": 2000,
            "seed": 0,
            "dtype": "float64",
        },
    },
}
