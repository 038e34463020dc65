"""Core and residual: the split itself, truncated and dense, against an eigendecomposition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import solver as naive
from reference.solver import core_basis
from reference.streams import STREAM, fit, synthetic_stream
from scipy.sparse.linalg import eigsh

from sparcl.algebra import spectra
from sparcl.algebra.partition import Spectrum, check_size, complement, residual_condition
from sparcl.algebra.spectra import canonical_angle
from sparcl.base.errors import InputError
from sparcl.methods import build


def matrix(seed: int, d: int, values: np.ndarray) -> np.ndarray:
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    R = (U * values) @ U.T
    return np.asfortranarray((R + R.T) / 2)


@pytest.mark.parametrize("rank", [1, 5, 8, 9, 20, 32, 40])
@pytest.mark.parametrize("d", [30, 200, 420])  # never, sometimes and mostly truncated
def test_leading_pairs_are_those_of_the_dense_decomposition(d: int, rank: int) -> None:
    rank = min(rank, d)
    R = matrix(rank, d, 10.0 * 0.9 ** np.arange(d))
    values, vectors = spectra.leading_eigh(R, rank=rank)
    dense, dense_vectors = np.linalg.eigh(R)
    dense, dense_vectors = dense[::-1], dense_vectors[:, ::-1]
    assert len(values) >= rank
    assert values[:rank] == pytest.approx(dense[:rank], abs=1e-10)
    overlap = np.abs(np.sum(vectors[:, :rank] * dense_vectors[:, :rank], axis=0))
    assert overlap == pytest.approx(np.ones(rank), abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(len(values)), abs=1e-10)


def test_truncation_is_used_and_refused() -> None:
    """Both sides of the choice are met: few pairs of a steep spectrum, all pairs of a flat one."""
    steep, flat = matrix(0, 200, 10.0 * 0.5 ** np.arange(200)), matrix(0, 200, np.ones(200))
    assert len(spectra.leading_eigh(steep, energy=0.9)[0]) == 8
    assert len(spectra.leading_eigh(flat, energy=0.9)[0]) == 181  # one above what the sum asks for


def test_ranks_that_cannot_hold_the_energy_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the smallest eigenvalue found 29 pairs may hold it, by the squares that are left 36; it takes 110."""
    tried = []

    def counted(operator: object, k: int, **options: object) -> object:
        tried.append(k)
        return eigsh(operator, k=k, **options)

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", counted)
    R = matrix(0, 400, np.r_[np.full(20, 10.0), np.full(380, 1.0)])
    assert len(spectra.leading_eigh(R, energy=0.499)[0]) == 111
    assert tried == [8]


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    d=st.sampled_from([12, 150, 330]),
    decay=st.floats(0.5, 0.99),
    tau=st.floats(0.05, 0.99),
)
def test_smallest_core_that_reaches_tau(seed: int, d: int, decay: float, tau: float) -> None:
    R = matrix(seed, d, decay ** np.arange(d))
    split = Spectrum(R).split(tau=tau)
    values = np.linalg.eigvalsh(R)[::-1]
    U = core_basis(R, tau)
    assert split.k == U.shape[1]
    assert split.r == d - split.k
    assert split.energy >= tau > split.energy_before
    assert split.energy == pytest.approx(values[: split.k].sum() / values.sum(), abs=1e-10)
    before = values[: split.k - 1].sum() / values.sum()
    assert split.energy_before == pytest.approx(before, abs=1e-10)
    assert split.U_core @ split.U_core.T == pytest.approx(U @ U.T, abs=1e-7)


@pytest.mark.parametrize("d", [100, 250])
def test_repeated_eigenvalues_are_all_found(d: int) -> None:
    """A block of equal eigenvalues is where a Lanczos process could miss copies."""
    values = np.concatenate([[5.0] * 6, [1.0] * 5, np.full(d - 11, 1e-3)])
    R = matrix(3, d, values)
    split = Spectrum(R).split(tau=0.8)
    assert split.k == int(np.searchsorted(np.cumsum(values) / values.sum(), 0.8)) + 1
    rayleigh = np.linalg.norm(R @ split.U_core, axis=0)
    assert rayleigh == pytest.approx(values[: split.k], abs=1e-9)


@settings(max_examples=6)
@given(seed=st.integers(0, 1000), d=st.sampled_from([20, 120]))
def test_cores_are_nested(seed: int, d: int) -> None:
    R = matrix(seed, d, 0.8 ** np.arange(d))
    taus = [0.4, 0.9, 0.6, 0.97]
    spectrum = Spectrum(R)
    # the largest first: the others take part of its decomposition
    largest = spectrum.split(tau=max(taus))
    splits = [spectrum.split(tau=tau) for tau in taus]
    assert {split.origin for split in splits} == {largest.origin}
    by_size = sorted(splits, key=lambda split: split.k)
    for small, large in pairwise(by_size):
        assert np.array_equal(large.U_core[:, : small.k], small.U_core)
    for tau, split in zip(taus, splits, strict=True):
        alone = Spectrum(R).split(tau=tau)
        assert (split.k, split.energy) == (alone.k, pytest.approx(alone.energy, abs=1e-12))
        assert split.U_core @ split.U_core.T == pytest.approx(
            alone.U_core @ alone.U_core.T, abs=1e-8
        )


@pytest.mark.parametrize("k", [0, 1, 7, 30])
def test_rank_given(k: int) -> None:
    R = matrix(1, 30, 0.7 ** np.arange(30))
    split = Spectrum(R).split(k=k)
    values = np.linalg.eigvalsh(R)[::-1]
    assert split.U_core.shape == (30, k)
    assert split.energy == pytest.approx(values[:k].sum() / values.sum(), abs=1e-12)
    assert split.energy_before == pytest.approx(
        values[: max(k - 1, 0)].sum() / values.sum(), abs=1e-12
    )


def test_rules_that_make_no_sense() -> None:
    with pytest.raises(InputError, match=r"31.*30"):
        Spectrum(np.eye(30, order="F")).split(k=31)
    for wrong in ({}, {"tau": 0.5, "k": 2}):
        with pytest.raises(InputError, match=r"tau or a rank k"):
            check_size(wrong.get("tau"), wrong.get("k"))


def test_no_energy_is_an_empty_core() -> None:
    split = Spectrum(np.zeros((9, 9), order="F")).split(tau=0.9)
    assert (split.k, split.r, split.energy, split.energy_before) == (0, 9, 0.0, 0.0)


def test_tiny_angles_are_not_rounded_away() -> None:
    U = np.eye(5)[:, :2]
    V = U.copy()
    V[4, 0], V[0, 0] = np.sin(1e-9), np.cos(1e-9)
    assert canonical_angle(U, V) == pytest.approx(np.degrees(1e-9), rel=1e-6)


@given(seed=st.integers(0, 1000), k=st.integers(0, 9), ridge=st.sampled_from([0.1, 3.0]))
def test_condition_of_the_residual(seed: int, k: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((30, 10)) * np.linspace(3, 0.1, 10)
    R = Phi.T @ Phi
    U = np.linalg.qr(rng.standard_normal((10, 10)))[0][:, :k]
    expected = naive.residual_condition(R, ridge, U)
    assert residual_condition(R, ridge, complement(U)) == pytest.approx(expected, rel=1e-9)


def test_condition_of_an_empty_residual_is_one() -> None:
    assert residual_condition(np.eye(4), 1.0, np.zeros((4, 0))) == 1.0


@pytest.mark.parametrize("how", [{"tau": 0.3}, {"tau": 0.95}, {"k": 4, "tau": None}])
def test_the_report_names_rank_and_energies(how: dict) -> None:
    learner = build("sparcl", refresh=1, **how)
    for t, (Phi, y) in enumerate(STREAM):
        learner.fit_session(Phi, y)
        report = learner.report()
        if t == 0:
            assert (report["k"], report["r"], report["energy"]) == (0, 16, 0.0)
            continue
        past = np.concatenate([block for block, _ in STREAM[:t]])
        values = np.linalg.eigvalsh(past.T @ past)[::-1]
        k = report["k"]
        assert k == (how.get("k") or core_basis(past.T @ past, how["tau"]).shape[1])
        assert report["r"] == 16 - k
        assert report["energy"] == pytest.approx(values[:k].sum() / values.sum(), abs=1e-10)
        before = values[: k - 1].sum() / values.sum()
        assert report["energy_before"] == pytest.approx(before, abs=1e-10)
        assert learner.core.U_core.shape == (16, k)


def test_few_samples_of_many_features() -> None:
    """d > n: the core of R_1 is inside the span of the first rows."""
    sessions = synthetic_stream(seed=5, sessions=3, classes=2, samples=3, dimension=150)
    learner = fit(build("sparcl", ridge=0.2, tau=0.99, refresh=0), sessions)
    expected = naive.solver(sessions, 0.2, {2}, tau=0.99)[-1]
    assert learner.core.U_core.shape[1] <= 6
    assert learner.weights == pytest.approx(expected.W, abs=1e-8)
