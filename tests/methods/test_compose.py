"""A method composed of parts by name: what it computes, what it equals, and what it refuses."""

import numpy as np
import pytest
from reference import solver
from reference.streams import PROBE, STREAM, fit

from sparcl.base.errors import InputError
from sparcl.methods import build
from sparcl.parts.rules import WIDE


@pytest.mark.parametrize("transform", ["none", "unit"])
def test_a_core_on_a_random_map_in_explicit_coordinates(transform: str) -> None:
    """SPARCL's constraint on RanPAC's features: rows relu(f W), the core in these coordinates."""
    stream = [(3.0 * Phi, y) for Phi, y in STREAM]
    learner = build(
        "compose",
        transform=transform,
        map={"random": {"width": 30}},
        core={"spectral": {"tau": 0.6}},
        ridge=0.1,
        seed=3,
    )
    fit(learner, stream[:1])
    W = learner.map.weights

    def mapped(Phi: np.ndarray) -> np.ndarray:
        if transform == "unit":
            Phi = Phi / np.linalg.norm(Phi, axis=1, keepdims=True)
        return np.maximum(Phi @ W, 0)

    states = solver.solver([(mapped(Phi), y) for Phi, y in stream], 0.1, {2, 3, 4}, tau=0.6)
    for t, state in enumerate(states):
        if t:
            learner.fit_session(*stream[t])
            assert learner.core.U_core.shape == state.cores[0].shape
        assert learner.weights == pytest.approx(state.W, abs=1e-8)
        assert learner.logits(PROBE) == pytest.approx(mapped(PROBE) @ state.W, abs=1e-8)


def test_a_signed_power_row_by_row() -> None:
    learner = fit(build("compose", transform={"power": {"exponent": 0.3}}, ridge=0.1), STREAM)

    def transformed(Phi: np.ndarray) -> np.ndarray:
        rows = [[np.copysign(abs(v) ** 0.3, v) for v in f] for f in Phi]
        return np.array([np.array(f) / np.linalg.norm(f) for f in rows])

    joint = fit(build("acil", ridge=0.1), [(transformed(Phi), y) for Phi, y in STREAM])
    assert learner.logits(PROBE) == pytest.approx(joint.logits(transformed(PROBE)), abs=1e-10)


RANDOM = {"map": {"random": {"width": 40}}}
ALIKE = {
    "ranpac": ({"width": 40}, RANDOM | {"ridge": "newest", "ridges": WIDE, "by_class": False}),
    "air": (
        {"width": 40},
        {"map": {"random": {"width": 40, "draw": "uniform"}}, "head": "balanced-ridge"},
    ),
    "gkeal": ({"width": 20}, {"map": {"kernel": {"width": 20}}}),
    "sparcl": ({"tau": 0.6}, {"core": {"spectral": {"tau": 0.6, "refresh": 2}}, "ridge": 1.0}),
    "slda": ({}, {"head": "shrunk-covariance", "ridge": 1e-4}),
    "sparcl-plus-1": (
        {"width": 30},
        {
            "map": {"residual": {"width": 30}},
            "core": {"spectral": {"tau": 0.5}},
            "ridge": "gaussian",
        },
    ),
    "klda": (
        {"width": 40},
        {"map": {"fourier": {"width": 40}}, "head": "ridged-scatter", "ridge": 1e-4},
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_parts_are_the_named_method_to_the_bit(name: str) -> None:
    own, parts = ALIKE[name]
    seed = {} if name == "slda" else {"seed": 3}
    a, b = build(name, **own, **seed), build("compose", **parts, seed=3)
    for session in STREAM:
        a.fit_session(*session)
        b.fit_session(*session)
        assert np.array_equal(a.logits(PROBE), b.logits(PROBE))
        assert a.report() == b.report()


def test_parts_that_do_not_exist_or_go_together_are_named() -> None:
    for parts, text in (
        ({"map": "cubic"}, r"map = 'cubic': .*none, random, fourier, kernel, residual"),
        ({"head": "svm"}, r"head = 'svm': .*ridge, ridge-discriminant, balanced-ridge"),
        ({"transform": {"power": {"root": 2}}}, r"'power': root: no such setting\. .*: exponent\."),
        ({"core": {"spectral": {"rank": 3}}}, r"'spectral': rank: no such setting\. .*tau, k,"),
        ({"map": "random"}, "map 'random': .*width"),
        ({"core": {"none": {}, "spectral": {}}}, "core = .*give one name"),
        ({"map": ["random"]}, r"map = \['random'\]: give one name"),
        ({"map": {"random": {"width": 0}}}, "width = 0"),
        ({"core": {"spectral": {"tau": 2.0}}}, r"tau = 2\.0"),
        ({"core": "spectral", "head": "shrunk-covariance"}, "goes with the head 'ridge' alone"),
        ({"core": "spectral", "head": "balanced-ridge"}, "goes with the head 'ridge' alone"),
    ):
        with pytest.raises(InputError, match=text):
            build("compose", **parts)


def test_a_seed_of_the_method_is_that_of_its_parts() -> None:
    learner = build("compose", map={"random": {"width": 4}}, core="spectral", seed=7)
    assert (learner.map.seed, learner.core.seed) == (7, 7)
    own = build("compose", map={"random": {"width": 4, "seed": 1}}, seed=7)
    assert own.map.seed == 1
