"""The same numerics on NumPy and on torch.

Each is held against a naive computation in float64.  Tiles are made small, so that every matrix has
several and a last one that is not full.
"""

import itertools
import sys

import numpy as np
import pytest
from reference import buffers
from reference.peers import primal_ridge
from reference.ridge import predicted_accuracy

from sparcl.algebra import backend, ridge, spectra, tensors, tiles
from sparcl.algebra.backend import product
from sparcl.algebra.partition import Spectrum
from sparcl.algebra.recursive import ResidualInverse
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Gram, Sums
from sparcl.base.errors import InputError, NumericalError

BACKENDS = {
    "numpy": backend.HOST,
    "torch": tensors.on("cpu"),
}


@pytest.fixture(params=BACKENDS, autouse=True)
def on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> backend.Backend:
    monkeypatch.setattr(tensors.Tensors, "tile", 5)
    return BACKENDS[request.param]


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((40, 13)) * np.linspace(3, 0.3, 13)


def gram(on: backend.Backend, X: np.ndarray) -> Gram:
    result = Gram(X.shape[1], X.dtype, on)
    result.add(on.array(X))
    return result


def close(found, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(
        backend.host(found), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max()
    )


def test_an_array_finds_its_backend_and_comes_back(on, X) -> None:
    there = on.array(X)
    assert backend.of(there).name == on.name
    assert on.dtype(there) == np.float64
    assert np.array_equal(backend.host(there), X)
    assert backend.like(X, on.array(X, "float32")).dtype == on.array(X, "float32").dtype
    if on is not backend.HOST:  # no view of the host's
        before = X.copy()
        there[0, 0] += 1.0
        assert np.array_equal(X, before)


@pytest.mark.parametrize("d", [1, 13, 300])
def test_sums_of_blocks(on, d: int) -> None:
    X = np.random.default_rng(0).standard_normal((40, d))
    R, expected = gram(on, X[:15]), X[3:].T @ X[3:]
    R.add(on.array(X[15:]))
    R.add(on.array(X[:3]), sign=-1.0)
    close(R.diagonal, np.diag(expected))
    close(R.times(on.array(X.T)), expected @ X.T)  # from the lower triangle alone
    close(R.times(on.array(X[0])), expected @ X[0])
    close(R.R, expected)
    close(Gram.of_rows(on.array(X)).R, X @ X.T)


def test_a_factor_solves_and_leaves_the_matrix_to_the_bit(on, X) -> None:
    R, B = gram(on, X), X[:6].T
    before = backend.host(R.R).copy()
    A = X.T @ X + 0.3 * np.eye(13)
    with R.factored(0.3) as factor:
        close(factor.solve(on.array(B)), np.linalg.solve(A, B))
        close(factor.pivots, np.diag(np.linalg.cholesky(A)))
        inverse = backend.host(factor.inverse())
        close(np.tril(inverse), np.tril(np.linalg.inv(A)))
    assert np.array_equal(backend.host(R.R), before)
    Q = np.linalg.qr(X.T[:, :4])[0]
    with R.factored(0.3, downdate=(0.15, on.array(Q))) as factor:
        close(factor.solve(on.array(B)), np.linalg.solve(A - 0.15 * Q @ Q.T, B))
        assert factor.solve(on.array(B[:, :0])).shape == (13, 0)
    assert np.array_equal(backend.host(R.R), before)


@pytest.mark.parametrize("rows", [4, 9])
def test_a_singular_matrix_is_refused_and_survives(on, X, rows: int) -> None:
    R = gram(on, X[:rows])
    before = backend.host(R.R).copy()
    with pytest.raises(NumericalError, match="not positive definite"), R.factored(1e-18):
        pass
    assert np.array_equal(backend.host(R.R), before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_product_of_any_layout(on, dtype: str) -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-9, 9, shape).astype(dtype) for shape in ((7, 5), (5, 3)))
    expected = np.einsum("ij,jk->ik", A, B)
    for left, right in itertools.product(
        (on.array(A), on.array(A.T).T), (on.array(B), on.array(B.T).T)
    ):
        found = backend.host(product(left, right))
        assert np.array_equal(found, expected)
        assert found.dtype == dtype and found.flags.c_contiguous
        assert np.array_equal(backend.host(product(left[::2], right)), expected[::2])
        assert np.array_equal(backend.host(product(left[:1], right[:, :1])), expected[:1, :1])


def test_products_columns_and_rows(on, X) -> None:
    A, B = on.array(X), on.array(X[:7].T.copy())
    close(product(A, B), X @ X[:7].T)
    numbers = np.array([2, 9])
    close(on.take_columns(A, numbers), X[:, numbers])
    C = on.zeros((40, 12), "float64")
    on.add_columns(C, numbers, on.array(X[:, :2]))
    on.add_columns(C, numbers, on.array(X[:, :2]))
    on.set_columns(C, np.array([0, 2]), on.array(X[:, 5:7]))
    expected = np.zeros((40, 12))
    expected[:, 9], expected[:, 0], expected[:, 2] = 2 * X[:, 1], X[:, 5], X[:, 6]
    close(C, expected)
    close(on.squared_lengths(A), np.sum(X**2, axis=1))
    distances = ((X[:, None] - X[None, :8]) ** 2).sum(axis=2)
    close(on.squared_distances(A, on.array(X[:8])), distances, 1e-10)
    for k in (0, 5, 12):
        assert np.array_equal(
            backend.host(on.order_statistic(A, k))[:, 0], np.sort(X, axis=1)[:, k]
        )
    Y = on.one_hot(np.array([3, 1, 3]), np.array([1, 3]), A)
    assert np.array_equal(backend.host(Y), [[0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize("d", [13, 30, 200, 420])  # never, sometimes and mostly truncated
def test_leading_eigenpairs(on, d: int) -> None:
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    s = 10 * 0.9 ** np.arange(d)
    R = (V * s) @ V.T
    R = on.array((R + R.T) / 2)
    shares = np.cumsum(s) / s.sum()
    asked = [(min(rank, d), None) for rank in (1, 5, 8, 9, 20, 32, 40)] + [(None, 0.5), (None, 0.8)]
    for rank, energy in asked:
        values, vectors = spectra.leading_eigh(
            on, R, rank=rank, energy=(energy or np.inf) * s.sum()
        )
        wanted = rank or int(np.searchsorted(shares, energy)) + 1
        assert isinstance(values, np.ndarray) and len(values) >= wanted
        close(values[:wanted], s[:wanted], 1e-10)
        vectors = backend.host(vectors)
        overlap = np.abs(np.sum(vectors[:, :wanted] * V[:, :wanted], axis=0))
        assert overlap == pytest.approx(np.ones(wanted), abs=1e-9)
        assert vectors.T @ vectors == pytest.approx(np.eye(len(values)), abs=1e-10)
    part = Spectrum(Gram.wrap(R)).split(k=2)
    assert np.abs(np.diag(backend.host(part.U_core).T @ V[:, :2])) == pytest.approx([1, 1])
    assert part.energy == pytest.approx(shares[1])


def test_all_eigenpairs_fall(on, X) -> None:
    values, vectors = map(backend.host, spectra.descending_eigh(on.array(X.T @ X)))
    assert (np.diff(values) < 0).all()
    close((vectors * values) @ vectors.T, X.T @ X)


def test_definite_blocks(on, X) -> None:
    A = X.T @ X + np.eye(13)
    close(on.block_solve(on.array(A), on.array(X.T)), np.linalg.solve(A, X.T))
    assert on.block_solve(on.zeros((0, 0), "float64"), on.zeros((0, 3), "float64")).shape == (
        0,
        3,
    )
    with pytest.raises(NumericalError, match="block of 13 rows"):
        on.block_solve(on.array(-A), on.array(X.T))


def test_the_recursive_path_is_the_direct_one(on, X) -> None:
    U = np.linalg.qr(X.T[:, :3])[0]
    rng, labels = np.random.default_rng(2), np.arange(40) % 3
    Y = np.eye(3)[labels]
    R = gram(on, X)
    with R.factored(0.5) as A:
        W = A.solve(on.array(X.T @ Y))
    path = ResidualInverse(0.5, on.array(U))
    path.factor(R)
    new, more = rng.standard_normal((4, 13)), np.array([1, 3, 3, 0])
    R.add(on.array(new))
    found = path.update(on.array(new), more, W, 4, R)
    A = X.T @ X + new.T @ new + 0.5 * np.eye(13)
    free = np.linalg.solve(A, X.T @ np.eye(4)[labels] + new.T @ np.eye(4)[more])
    V = np.linalg.solve(A, U)
    held = backend.host(W)
    S = np.linalg.solve(U.T @ V, U.T @ (free[:, :3] - held))
    close(found, np.column_stack([free[:, :3] - V @ S, free[:, 3]]), 1e-8)
    assert path.refactored == []


def test_ridges_on_held_out_rows(on, X) -> None:
    Y, grid = np.eye(4)[np.arange(40) % 4], np.array([0.01, 1.0, 100.0])
    for n in (8, 30):  # in the dual, and not
        found = ridge.holdout(*(on.array(a) for a in (X[:n], Y[:n], X[n:], Y[n:])), grid)
        expected = []
        for value in grid:
            W = np.linalg.solve(X[:n].T @ X[:n] + value * np.eye(13), X[:n].T @ Y[:n])
            expected.append(np.mean((X[n:] @ W - Y[n:]) ** 2))
        close(found, np.array(expected), 1e-9)


@pytest.mark.parametrize("n", [1, 2, 9, 13, 40])  # fewer rows than the 13 columns, as many, more
def test_generalised_cross_validation(on, X, n: int) -> None:
    H, Y, grid = X[:n], np.eye(3)[np.arange(n) % 3], 10.0 ** np.arange(-3, 5)
    expected = buffers.gcv_scores(H, Y, grid)
    assert ridge.gcv(on.array(H), on.array(Y), grid) == pytest.approx(expected, rel=1e-8)
    single = on.array(H, "float32"), on.array(Y, "float32")
    assert ridge.gcv(*single, grid[3:]) == pytest.approx(expected[3:], rel=1e-3)


def test_copies_of_rows_make_no_loss_infinite(on) -> None:
    """Copies make the dual singular: eigenvalues take over where Cholesky stops."""
    rng = np.random.default_rng(0)
    H = np.repeat(rng.standard_normal((5, 30)), 4, axis=0)
    Y, grid = np.repeat(np.eye(5), 4, axis=0), np.array([1e-20, 1e-3, 1.0])
    H_val = H + 0.1 * rng.standard_normal(H.shape)
    errors = ridge.holdout(*map(on.array, (H, Y, H_val, Y)), grid)
    expected = [np.mean((H_val @ primal_ridge(H, Y, r) - Y) ** 2) for r in grid[1:]]
    assert np.isfinite(errors[0])
    assert errors[1:] == pytest.approx(expected, rel=1e-6)
    scores = ridge.gcv(on.array(H), on.array(Y), grid)
    assert scores == pytest.approx(buffers.gcv_scores(H, Y, grid), rel=1e-6)


def sums(on: backend.Backend, X: np.ndarray, labels: np.ndarray, classes: int = 4) -> Sums:
    result = Sums(X.shape[1], X.dtype.name, on)
    result.grow(classes)
    result.accumulate(on.array(X), labels)
    return result


@pytest.mark.parametrize("cut", [1, 25, 39])
def test_sums_of_rows_and_of_sums(on, X, cut: int) -> None:
    labels = np.arange(40) % 4
    Y = np.eye(4)[labels]
    both, other = sums(on, X[:cut], labels[:cut]), sums(backend.HOST, X[cut:], labels[cut:])
    both.merge(other, range(4))
    close(both.R, X.T @ X)
    close(both.C, X.T @ Y)
    assert (both.n, both.counts.tolist()) == (40, [10] * 4)
    close(other.R, X[cut:].T @ X[cut:])  # it stays as it was
    both.reorder(np.array([2, 0, 1, 3]))
    close(both.C, (X.T @ Y)[:, [2, 0, 1, 3]])
    both.accumulate(on.array(X[:9]), np.zeros(9, dtype=int))  # and it goes on
    close(both.R, X.T @ X + X[:9].T @ X[:9])


def test_sums_under_a_map_of_columns(on, X) -> None:
    """Two sites that met the classes in different orders, one with fewer of them."""
    labels, few = np.arange(40) % 4, np.arange(40) % 4 > 1
    one = sums(on, X[:20], labels[:20])
    one.merge(sums(on, X[20:][few[20:]], 3 - labels[20:][few[20:]], 2), [3, 2])
    rows = few | (np.arange(40) < 20)
    close(one.R, X[rows].T @ X[rows])
    close(one.C, X[rows].T @ np.eye(4)[labels[rows]])
    assert one.counts.tolist() == np.bincount(labels[rows]).tolist()
    for columns in ([0, 1], [0, 1, 2, 4], [0, 1, 2, -1], [0, 1, 1, 2]):
        with pytest.raises(InputError, match="columns"):
            one.merge(one, columns)
    with pytest.raises(InputError, match="13 coordinates into 4"):
        Sums(4).merge(one, [])


def test_weighted_sums(on, X) -> None:
    labels = np.arange(40) % 4
    weights = np.array([1.0, 2.0, 0.5, 3.0])[labels]
    weighed = Sums(13, "float64", on)
    weighed.grow(4)
    weighed.accumulate(on.array(X), labels, weights)
    close(weighed.C, (X * weights[:, None]).T @ np.eye(4)[labels])
    weighed.copy().accumulate(on.array(X), labels)
    close(weighed.R, (X * weights[:, None]).T @ X)


def test_scatter_inside_the_classes(on, X) -> None:
    labels = np.arange(40) % 4
    means = np.stack([X[labels == j].mean(axis=0) for j in range(4)])
    S = (X - means[labels]).T @ (X - means[labels])
    scatter, B = Scatter(sums(on, X, labels)), on.array(means.T)
    assert scatter.trace() == pytest.approx(np.trace(S))
    rho, mean = scatter.oas()
    assert mean == pytest.approx(np.trace(S) / 40 / 13)
    square = np.mean((S / 40) ** 2)
    assert rho == pytest.approx(min(1, (square + mean**2) / (41 * (square - mean**2 / 13))))
    close(scatter.solve(0.2, 0.7, B), np.linalg.solve(0.2 * S + 0.7 * np.eye(13), means.T))
    solved, rank = scatter.pseudo_solve(B)
    assert rank == 13
    close(solved, np.linalg.pinv(S) @ means.T, 1e-9)


@pytest.mark.parametrize("absent", [None, 2])  # a class without rows counts for nothing
def test_losses_from_sums(on, X, absent: int | None) -> None:
    rows = np.arange(40) % 4 != absent
    X, labels = X[rows], (np.arange(40) % 4)[rows]
    total, Y = sums(on, X, labels), np.eye(4)[labels]
    W = np.linalg.solve(X.T @ X + np.eye(13), X.T @ Y)
    args = (on.array(W), total.R, total.C)
    assert ridge.squared_error(*args) == pytest.approx(np.sum((X @ W - Y) ** 2) - len(X))
    predicted = ridge.predicted_accuracy(*args, total.counts)
    assert predicted == pytest.approx(predicted_accuracy(W, X, labels), rel=1e-10)


def test_a_predicted_accuracy_comes_true_on_gaussian_classes(on) -> None:
    rng = np.random.default_rng(3)
    means, y = rng.standard_normal((5, 12)), rng.integers(0, 5, 6000)
    Phi = means[y] + 4 * rng.standard_normal((6000, 12)) @ rng.standard_normal((12, 12)) / 12
    fit, held, test = (slice(start, start + 2000) for start in (0, 2000, 4000))
    learned, other = sums(on, Phi[fit], y[fit], 5), sums(on, Phi[held], y[held], 5)
    with learned.factored(1.0) as A:
        W = A.solve(learned.C)
    predicted = ridge.predicted_accuracy(W, other.R, other.C, other.counts)
    measured = np.mean(np.argmax(Phi[test] @ backend.host(W), axis=1) == y[test])
    assert 0.5 < measured < 0.98
    # rivals are not quite independent, so the model is a little pessimistic
    assert predicted == pytest.approx(measured, abs=0.05)


def test_float32_is_refined_to_what_float32_can_hold(on) -> None:
    """Condition 3e4: a float32 factor alone is wrong in the third digit, refined it is right in the sixth."""
    rng = np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    H = (np.sqrt(np.geomspace(3e4, 1, 60))[:, None] * V).astype(np.float32)
    R, B = Gram(60, "float32", on), rng.standard_normal((60, 5)).astype(np.float32)
    R.add(on.array(H))
    A = np.tril(backend.host(R.R)).astype(np.float64)
    A = A + np.tril(A, -1).T + 0.01 * np.eye(60)
    with R.factored(0.01) as factor:
        found = backend.host(factor.solve(on.array(B)))
    expected = np.linalg.solve(A, B.astype(np.float64))
    assert found.dtype == np.float32
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if on is backend.HOST:
        assert R.residual is None and error > 1e-6
    else:
        assert R.residual is not None and R.residual <= 1.2e-7 and error < 1e-6


def test_refinement_that_does_not_converge_is_an_error(on, monkeypatch: pytest.MonkeyPatch) -> None:
    if on is backend.HOST:
        return
    R = Gram(8, "float32", on)
    R.add(on.array(np.eye(8, dtype=np.float32)))
    substituted = tiles.TileFactor._substituted
    monkeypatch.setattr(tiles.TileFactor, "_substituted", lambda self, B: substituted(self, B) * 3)
    with pytest.raises(NumericalError, match="relative residual"), R.factored(1.0) as factor:
        factor.solve(on.array(np.ones((8, 2), dtype=np.float32)))


def test_a_matrix_that_does_not_fit_is_refused(on, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(on), "free", lambda self: 1000)
    Gram(11, on=on)
    with pytest.raises(InputError, match=r"R of shape \(12, 12\) takes .* free on its device"):
        Gram(12, on=on)


def test_devices_are_named() -> None:
    assert backend.named("cpu") is backend.HOST
    assert backend.named("torch-cpu") is tensors.on("cpu")
    with pytest.raises(InputError, match="one of cpu, cuda, auto"):
        backend.named("gpu")


def test_a_missing_card_or_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert backend.named("auto") is backend.HOST
    with pytest.raises(InputError, match="no CUDA card"):
        backend.named("cuda")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setattr(tensors.importlib.util, "find_spec", lambda name: None)
    assert backend.named("auto") is backend.HOST
    with pytest.raises(InputError, match="needs torch and array_api_compat"):
        backend.named("cuda")


def test_the_residual_is_the_largest_since_rows_were_added(on) -> None:
    rng = np.random.default_rng(4)
    H = rng.standard_normal((70, 60)).astype(np.float32)
    R, B = Gram(60, "float32", on), on.array(rng.standard_normal((60, 5)).astype(np.float32))
    R.add(on.array(H))
    found = []
    for shift in (0.01, 1e4):
        with R.factored(shift) as factor:
            factor.solve(B)
            found.append(factor.residual)
    assert on.refines(R.precision) == (on is not backend.HOST)
    if on is backend.HOST:
        assert found == [None, None] and R.residual is None
    else:
        assert R.residual == max(found) > min(found)
        R.add(on.array(H[:3]))
        assert R.residual is None
    assert not on.refines(Gram(3, "float64", on).precision)


def test_tf32_is_off_whatever_was_set_before() -> None:
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        tensors.Tensors("cpu")
        assert not torch.backends.cuda.matmul.allow_tf32
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
