"""Slow network, stored Gaussians and aligned heads of SLCA."""

from functools import partial

import numpy as np
import pytest
import torch
from trained import toys
from trained.toys import Make, rows

from study.trained import methods
from study.trained.methods.slca import drawn

HYPER = {"rate": 0.05, "epochs": 2, "batch": 6, "drop": 1, "alignment": 2}
fitted = partial(toys.fitted, "slca", HYPER)


def alignment_by_hand(z: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of -log p_y, p proportional to exp(z / (0.1 N)), N the mean norm of three pairs of logits."""
    found = []
    for row, column in zip(z, y, strict=True):
        pairs = [(row[i] ** 2 + row[i + 1] ** 2) ** 0.5 for i in (0, 2, 4)]
        scaled = row / (0.1 * sum(pairs) / 3)
        found.append(np.log(sum(np.exp(scaled - scaled.max()))) + scaled.max() - scaled[column])
    return float(np.mean(found))


def test_the_alignment_is_the_formula_with_the_gradient_of_differences(setup: Make) -> None:
    learner = methods.build("slca", setup(), **HYPER)
    learner.sizes = [2, 2, 2]
    z, y = np.random.default_rng(0).normal(size=(9, 6)), np.arange(9) % 6
    given = torch.tensor(z, requires_grad=True)
    loss = learner.alignment_loss(given, torch.from_numpy(y))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(alignment_by_hand(z, y), rel=1e-5)
    for place in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[place] = 1e-5
        slope = (alignment_by_hand(z + step, y) - alignment_by_hand(z - step, y)) / 2e-5
        assert float(given.grad[place]) == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_alignment_leaves_network_and_stored_heads_alone(setup: Make) -> None:
    with_it, without = fitted(setup(), 2), fitted(setup(), 2, alignment=0)
    for name in ("network", "head"):
        pairs = zip(
            getattr(with_it, name).parameters(), getattr(without, name).parameters(), strict=True
        )
        assert all(torch.equal(a, b) for a, b in pairs)
    assert torch.equal(without.aligned[0].weight, without.head[0].weight)
    assert not torch.equal(with_it.aligned[0].weight, with_it.head[0].weight)


def test_gaussians_are_those_of_the_plain_images_when_their_class_came(setup: Make) -> None:
    made = setup()
    learner = fitted(made, 1)
    first = {key: value.clone() for key, value in learner.kept.items()}
    gaussians = learner.gaussians()
    for column, label in enumerate(learner.classes):
        images = [
            p for p, y in zip(made.train.pixels, made.train.labels, strict=True) if y == label
        ]
        with torch.no_grad():
            f = learner.network(made.view.plain(images, "cpu")).double().numpy()
        np.testing.assert_allclose(gaussians.means[column], f.mean(0), atol=1e-5)
        F = gaussians.factors[column]
        np.testing.assert_allclose(F.T @ F / 7, np.cov(f.T), atol=1e-4)
    learner.fit_session(rows(made, 1))
    assert torch.equal(learner.kept["means"][:2], first["means"])


def test_draws_have_the_shrunken_mean_and_the_covariance(setup: Make) -> None:
    gaussians = fitted(setup(), 1).gaussians()
    rng = np.random.default_rng(0)
    X = np.concatenate([drawn(gaussians, 1, 0.95, rng) for _ in range(100)])
    F = gaussians.factors[1]
    covariance = F.T @ F / 7 + 1e-4 * np.eye(16)
    error = np.abs(X.mean(0) - 0.95 * gaussians.means[1]) / np.sqrt(np.diag(covariance) / len(X))
    assert error.max() < 4.5
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) * 2 / len(X))
    assert (np.abs(np.cov(X.T) - covariance) / spread).max() < 5


def test_draws_cover_all_classes_with_the_factor_of_their_session(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, asked = fitted(setup(), 2), []

    def noted(gaussians: object, j: int, shrink: float, rng: object) -> np.ndarray:
        asked.append((j, shrink))
        return np.zeros((256, 16))

    monkeypatch.setattr("study.trained.methods.slca.drawn", noted)
    batches = list(learner.draws(learner.gaussians())(0))
    assert [j for j, _ in asked] == [0, 1, 2, 3]
    assert [s for _, s in asked] == pytest.approx([0.95, 0.95, 1.0, 1.0])
    assert len(batches) == 4 and all(len(x) == 256 for x, _ in batches)
    assert torch.cat([y for _, y in batches]).bincount().tolist() == [256] * 4


def test_the_network_learns_at_its_own_rate_or_not_at_all(setup: Make) -> None:
    made = setup()
    learner = methods.build("slca", made, **HYPER)
    learner.begin(np.array([1, 4]))
    head, network = next(learner.session(np.flatnonzero(made.train.labels == 1))).groups
    assert network["lr"] == pytest.approx(head["lr"] / 100)
    frozen = fitted(made, 2, slow=0.0)
    pairs = zip(frozen.network.parameters(), made.network.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    moved = fitted(made, 1)
    pairs = zip(moved.network.parameters(), made.network.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)
