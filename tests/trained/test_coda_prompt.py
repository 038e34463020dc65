"""Components, their attention and their orthogonality in CODA-Prompt."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.slow_transformer import tokens
from trained.toys import SESSIONS

from sparcl.base.errors import InputError
from study.trained import methods
from study.trained.learner import Trained
from study.trained.methods.coda_prompt import orthonormal, quarter_cosine
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.01, "epochs": 2, "batch": 8, "blocks": (1, 2), "components": 3, "length": 4}


def fitted(setup: Setup, sessions: int, **hyper: object) -> Trained:
    learner = methods.build("coda-prompt", setup, **HYPER | hyper)
    for classes in SESSIONS[:sessions]:
        learner.fit_session(np.flatnonzero(np.isin(setup.train.labels, classes)))
    return learner


def test_loss_and_scores_equal_loops_over_components(setup: Make) -> None:
    learner = fitted(setup(), 2, orthogonality=0.2)
    rows = np.flatnonzero(np.isin(learner.setup.train.labels, SESSIONS[1]))[:4]
    batch = learner.augmented(rows)
    P, K, A = (
        torch.cat(list(pool), 1).detach() for pool in (learner.prompts, learner.keys, learner.focus)
    )
    logits = []
    for image in batch.x:
        q, prefixes = tokens(learner.network, image)[0].float(), {}
        for block in range(2):
            prefix = torch.zeros(4, 16)
            for m in range(6):
                a = functional.cosine_similarity(q * A[block, m], K[block, m], dim=0)
                prefix += a * P[block, m]
            prefixes[block + 1] = (prefix[:2], prefix[2:])
        out = tokens(learner.network, image, prefixes=prefixes)[:1]
        logits.append(learner.head(out.float())[0])
    z, penalty = torch.stack(logits), 0.0
    for pool in (P.flatten(2), K, A):
        for block in range(2):
            for i in range(6):
                for j in range(6):
                    gram = float(pool[block, i] @ pool[block, j])
                    penalty += (gram - (i == j)) ** 2 / 36
    with torch.no_grad():
        torch.testing.assert_close(learner.predict(batch.x), z, rtol=1e-3, atol=1e-4)
        expected = functional.cross_entropy(z[:, 2:], batch.y - 2) + 0.2 * penalty
        assert float(learner.loss(batch)) == pytest.approx(float(expected), rel=1e-3)


def test_components_start_orthonormal_and_earlier_ones_stay_to_the_bit(setup: Make) -> None:
    learner = fitted(setup(), 1)
    first = [pool[0].detach().clone() for pool in (learner.prompts, learner.keys, learner.focus)]
    learner.begin(np.array([0, 5]))
    for pool, old in zip((learner.prompts, learner.keys, learner.focus), first, strict=True):
        new, old = pool[1].detach().double().flatten(2), old.double().flatten(2)
        eye = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        torch.testing.assert_close(new @ new.transpose(1, 2), eye, rtol=0, atol=1e-6)
        assert (new @ old.transpose(1, 2)).abs().max() < 1e-6
    two = fitted(setup(), 2)
    for pool, old in zip((two.prompts, two.keys, two.focus), first, strict=True):
        assert torch.equal(pool[0], old)


def test_gram_schmidt_equals_the_textbook() -> None:
    rows = torch.randn(1, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, basis = orthonormal(rows, 0)[0], []
    for row in rows[0]:
        left = row - sum((row @ b) * b for b in basis)
        basis.append(left / left.norm())
    torch.testing.assert_close(found, torch.stack(basis))


def test_the_rate_falls_to_almost_nothing_and_one_epoch_is_possible() -> None:
    assert quarter_cosine(0, 20) == 1 and quarter_cosine(0, 1) == 1
    assert quarter_cosine(19, 20) == pytest.approx(np.cos(99 * np.pi / 200))


def test_more_components_than_dimensions_are_refused(setup: Make) -> None:
    learner = fitted(setup(), 1, components=9)
    rows = np.flatnonzero(np.isin(learner.setup.train.labels, SESSIONS[1]))
    with pytest.raises(InputError, match=r"session 2: 18 components .* 16 dimensions"):
        learner.fit_session(rows)
    with pytest.raises(InputError, match="even number"):
        methods.build("coda-prompt", setup(), **HYPER | {"length": 3})


def test_trainable_parameters_are_those_of_the_formula(setup: Make) -> None:
    assert fitted(setup(), 3).report()["trainable_parameters"] == 2 * 9 * 16 * 6 + 17 * 6
