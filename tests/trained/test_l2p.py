"""Choice of prompts, pull of keys and gradients of L2P."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.slow_transformer import tokens
from trained.toys import SESSIONS

from sparcl.base.errors import InputError
from study.trained import methods
from study.trained.learner import Batch, Trained
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.01, "epochs": 1, "batch": 8, "pool": 5, "length": 2, "chosen": 2, "pull": 0.4}


def fitted(setup: Setup) -> tuple[Trained, Batch]:
    learner = methods.build("l2p", setup, **HYPER)
    for classes in SESSIONS[:2]:
        learner.fit_session(np.flatnonzero(np.isin(setup.train.labels, classes)))
    return learner, learner.augmented(np.flatnonzero(np.isin(setup.train.labels, SESSIONS[1]))[:6])


def test_loss_and_scores_equal_a_slow_reference(setup: Make) -> None:
    learner, batch = fitted(setup())
    prompts, keys = learner.prompts.detach(), learner.keys.detach()
    logits, pulled = [], 0.0
    for image in batch.x:
        q = tokens(learner.network, image)[0]
        cosines = [float(q @ k.double() / q.norm() / k.norm()) for k in keys]
        best = sorted(range(5), key=lambda m: -cosines[m])[:2]
        pulled += sum(cosines[m] for m in best) / len(batch.x)
        out = tokens(learner.network, image, torch.cat([prompts[m] for m in best]))[1:5]
        logits.append(learner.head(out.mean(0).float()[None])[0])
    z = torch.stack(logits)
    with torch.no_grad():
        torch.testing.assert_close(learner.predict(batch.x), z, rtol=1e-3, atol=1e-4)
        expected = functional.cross_entropy(z[:, 2:], batch.y - 2) - 0.4 * pulled
        assert float(learner.loss(batch)) == pytest.approx(float(expected), rel=1e-3)


def test_only_chosen_prompts_and_keys_and_new_rows_have_a_gradient(setup: Make) -> None:
    learner, batch = fitted(setup())
    one = Batch(batch.x[:1], batch.y[:1], batch.rows[:1])
    learner.requires_grad_(True)
    learner.loss(one).backward()
    chosen = set(learner.choose(learner.query(one.x))[0].tolist())
    for m in range(5):
        for pool in (learner.prompts, learner.keys):
            assert bool(pool.grad[m].any()) == (m in chosen)
    assert not learner.head[0].weight.grad.any() and learner.head[1].weight.grad.any()
    assert len(chosen) == 2


def test_uses_are_counted_and_old_rows_of_the_head_stay(setup: Make) -> None:
    made = setup()
    learner, _ = fitted(made)
    uses = learner.report()["prompt_uses"]
    assert sum(uses) == 2 * 32 and len(uses) == 5  # two prompts for each image
    assert learner.report()["trainable_parameters"] == 5 * 16 * 3 + 17 * 4


def test_more_prompts_than_the_pool_holds_are_refused(setup: Make) -> None:
    with pytest.raises(InputError, match="chosen = 6 prompts out of a pool of 5"):
        methods.build("l2p", setup(), **HYPER | {"chosen": 6})
