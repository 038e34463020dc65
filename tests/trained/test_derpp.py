"""The reservoir and the loss of DER++."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.toys import SESSIONS

from study.trained import methods
from study.trained.learner import Batch, Trained
from study.trained.methods.derpp import reservoir_slots
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.01, "epochs": 3, "batch": 6, "buffer": 10}


def fitted(setup: Setup, sessions: int, **hyper: object) -> Trained:
    learner = methods.build("derpp", setup, **HYPER | hyper)
    for classes in SESSIONS[:sessions]:
        learner.fit_session(np.flatnonzero(np.isin(setup.train.labels, classes)))
    return learner


def test_every_arrival_stays_with_the_same_probability() -> None:
    inside = np.zeros(40)
    for trial in range(4000):
        rng, buffer = np.random.default_rng(trial), np.full(8, -1)
        for start in (0, 5, 25):  # in parts, as batches come
            end = {0: 5, 5: 25, 25: 40}[start]
            for arrival, slot in enumerate(reservoir_slots(start, end - start, 8, rng), start):
                if slot >= 0:
                    buffer[slot] = arrival
        inside[buffer] += 1
    assert abs(inside / 4000 - 8 / 40).max() < 4 * np.sqrt(0.2 * 0.8 / 4000)


def test_without_its_two_terms_it_is_unmasked_finetuning(setup: Make) -> None:
    learner = fitted(setup(), 2, alpha=0.0, beta=0.0)
    rows = np.flatnonzero(np.isin(learner.setup.train.labels, [4, 1, 0, 5]))[:12]
    batch = learner.augmented(rows)
    with torch.no_grad():
        logits = learner.head(learner.network(batch.x))
        expected = functional.cross_entropy(logits, batch.y)
        assert logits.shape == (12, 6)
        assert float(learner.loss(batch)) == pytest.approx(float(expected), rel=1e-6)


def test_the_loss_adds_stored_logits_and_stored_labels(setup: Make) -> None:
    """Buffer smaller than a batch and no augmentation: both draws are the whole buffer."""
    made = setup()
    learner = fitted(made, 2, buffer=5)
    batch = learner.augmented(np.flatnonzero(made.train.labels == 0))
    kept = learner.kept["rows"].numpy()
    with torch.no_grad():
        z = learner.head(learner.network(batch.x))
        x = made.view.plain([made.train.pixels[row] for row in kept], "cpu")
        replayed = learner.head(learner.network(x))
        stored, total = learner.kept["logits"], 0.0
        for i in range(5):
            for k in range(6):
                total += float(replayed[i, k] - stored[i, k]) ** 2 / 30
        labels = torch.from_numpy(learner.columns(kept))
        expected = (
            functional.cross_entropy(z, batch.y)
            + 0.3 * total
            + 0.5 * functional.cross_entropy(replayed, labels)
        )
        assert float(learner.loss(batch)) == pytest.approx(float(expected), rel=1e-5)


def test_the_buffer_holds_logits_from_before_the_step_and_does_not_change_them(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, pairs = setup(), set()
    learner = methods.build("derpp", made, **HYPER)
    loss = learner.loss

    def watched(batch: Batch) -> torch.Tensor:
        with torch.no_grad():
            logits = learner.head(learner.network(batch.x))
        pairs.update(
            (int(row), z.numpy().tobytes()) for row, z in zip(batch.rows, logits, strict=True)
        )
        return loss(batch)

    monkeypatch.setattr(learner, "loss", watched)
    for classes in SESSIONS:
        learner.fit_session(np.flatnonzero(np.isin(made.train.labels, classes)))
    rows, logits = learner.kept["rows"], learner.kept["logits"]
    assert len(rows) == 10 and int(learner.kept["seen"]) == 3 * 48
    assert {(int(r), z.numpy().tobytes()) for r, z in zip(rows, logits, strict=True)} <= pairs
    assert len({int(made.train.labels[r]) for r in rows}) > 2  # of several sessions
