"""Core and residual: the split itself, truncated and dense, against an eigendecomposition; spans and angles."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import solver as naive
from reference.solver import core_basis
from reference.streams import STREAM
from scipy.sparse.linalg import eigsh

from sparcl.algebra import spectra
from sparcl.algebra.backend import HOST
from sparcl.algebra.partition import Spectrum, residual_condition
from sparcl.algebra.spectra import canonical_angle, energy_rank, orthonormal_span
from sparcl.algebra.sums import Gram
from sparcl.base.errors import InputError
from sparcl.methods import build


def matrix(seed: int, d: int, values: np.ndarray) -> np.ndarray:
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    R = (U * values) @ U.T
    return np.asfortranarray((R + R.T) / 2)


def spectrum_of(R: np.ndarray) -> Spectrum:
    return Spectrum(Gram.wrap(R))


def test_truncation_is_used_and_refused() -> None:
    """Both sides of the choice are met: few pairs of a steep spectrum, all pairs of a flat one."""
    steep, flat = matrix(0, 200, 10.0 * 0.5 ** np.arange(200)), matrix(0, 200, np.ones(200))
    assert len(spectra.leading_eigh(HOST, steep, energy=0.9 * np.trace(steep))[0]) == 8
    assert (
        len(spectra.leading_eigh(HOST, flat, energy=180.0)[0]) == 181
    )  # one above what the sum asks for


def test_ranks_that_cannot_hold_the_energy_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the smallest eigenvalue found 29 pairs may hold it, by the squares that are left 36; it takes 110."""
    tried = []

    def counted(operator: object, k: int, **options: object) -> object:
        tried.append(k)
        return eigsh(operator, k=k, **options)

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", counted)
    R = matrix(0, 400, np.r_[np.full(20, 10.0), np.full(380, 1.0)])
    assert len(spectra.leading_eigh(HOST, R, energy=0.499 * 580)[0]) == 111
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
    split = spectrum_of(R).split(tau=tau)
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
    split = spectrum_of(R).split(tau=0.8)
    assert split.k == int(np.searchsorted(np.cumsum(values) / values.sum(), 0.8)) + 1
    rayleigh = np.linalg.norm(R @ split.U_core, axis=0)
    assert rayleigh == pytest.approx(values[: split.k], abs=1e-9)


@settings(max_examples=6)
@given(seed=st.integers(0, 1000), d=st.sampled_from([20, 120]))
def test_cores_are_nested(seed: int, d: int) -> None:
    R = matrix(seed, d, 0.8 ** np.arange(d))
    taus = [0.4, 0.9, 0.6, 0.97]
    spectrum = spectrum_of(R)
    # the largest first: the others take part of its decomposition
    largest = spectrum.split(tau=max(taus))
    splits = [spectrum.split(tau=tau) for tau in taus]
    assert {split.origin for split in splits} == {largest.origin}
    by_size = sorted(splits, key=lambda split: split.k)
    for small, large in pairwise(by_size):
        assert np.array_equal(large.U_core[:, : small.k], small.U_core)
    for tau, split in zip(taus, splits, strict=True):
        alone = spectrum_of(R).split(tau=tau)
        assert (split.k, split.energy) == (alone.k, pytest.approx(alone.energy, abs=1e-12))
        assert split.U_core @ split.U_core.T == pytest.approx(
            alone.U_core @ alone.U_core.T, abs=1e-8
        )


def test_rank_given() -> None:
    R = matrix(1, 30, 0.7 ** np.arange(30))
    shares = np.cumsum(np.append(0, np.linalg.eigvalsh(R)[::-1])) / np.trace(R)
    for k in (0, 1, 7, 30):
        split = spectrum_of(R).split(k=k)
        assert split.U_core.shape == (30, k)
        assert split.energy == pytest.approx(shares[k], abs=1e-12)
        assert split.energy_before == pytest.approx(shares[max(k - 1, 0)], abs=1e-12)


def test_rules_that_make_no_sense() -> None:
    with pytest.raises(InputError, match=r"31.*30"):
        spectrum_of(np.eye(30)).split(k=31)


def test_no_energy_is_an_empty_core() -> None:
    split = spectrum_of(np.zeros((9, 9))).split(tau=0.9)
    assert (split.k, split.r, split.energy, split.energy_before) == (0, 9, 0.0, 0.0)


@given(seed=st.integers(0, 1000), rank=st.integers(0, 5))
def test_span_projects_as_the_pseudo_inverse_does(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, rank)) @ rng.standard_normal((rank, 6))
    U = orthonormal_span(A)
    assert U.shape == (9, rank)
    assert pytest.approx(np.eye(rank), abs=1e-12) == U.T @ U
    assert pytest.approx(A @ np.linalg.pinv(A, rcond=1e-9), abs=1e-8) == U @ U.T


@given(seed=st.integers(0, 1000), degrees=st.floats(1e-7, 89.0))
def test_largest_angle_whatever_the_bases(seed: int, degrees: float) -> None:
    rng = np.random.default_rng(seed)
    basis, mix = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (9, 3))
    U, turn = basis[:, :3], np.radians([degrees, degrees / 2, 0.0])
    V = (U * np.cos(turn) + basis[:, 3:6] * np.sin(turn)) @ mix
    assert canonical_angle(U, V) == pytest.approx(degrees, rel=1e-6, abs=1e-13)
    assert canonical_angle(U[:, :0], V[:, :0]) == 0


def test_energy_rank_is_the_first_that_holds_the_share() -> None:
    values = np.array([4.0, 3.0, 2.0, 1.0])
    for tau, rank in ((0.1, 1), (0.4, 1), (0.41, 2), (0.7, 2), (0.99, 4)):
        assert energy_rank(values, 10.0, tau) == rank
    assert energy_rank(values, 10.0 + 1e-9, 1.0 - 1e-16) == 4


@given(seed=st.integers(0, 1000), k=st.integers(0, 9), ridge=st.sampled_from([0.1, 3.0]))
def test_condition_of_the_residual(seed: int, k: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((30, 10)) * np.linspace(3, 0.1, 10)
    R = Phi.T @ Phi
    U = np.linalg.qr(rng.standard_normal((10, 10)))[0][:, :k]
    expected = naive.residual_condition(R, ridge, U)
    assert residual_condition(R, ridge, U) == pytest.approx(expected, rel=1e-9)
    assert residual_condition(R, ridge, np.eye(10)) == 1.0  # of a residual that is empty


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
