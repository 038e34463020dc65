"""Prefixes, slots and keys of DualPrompt."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.slow_transformer import tokens
from trained.toys import SESSIONS, transformer

from sparcl.base.errors import InputError
from study.trained import methods
from study.trained.learner import Trained
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.01, "epochs": 1, "batch": 8, "general_length": 2, "expert_length": 3}
BLOCKS = {"general_blocks": (1,), "expert_blocks": (2, 3)}


def fitted(setup: Setup, sessions: int = 3) -> Trained:
    learner = methods.build("dualprompt", setup, **HYPER, **BLOCKS, pull=0.3)
    for classes in SESSIONS[:sessions]:
        learner.fit_session(np.flatnonzero(np.isin(setup.train.labels, classes)))
    return learner


def slow(learner: Trained, image: torch.Tensor, slot: int) -> torch.Tensor:
    G, E = learner.general.detach(), learner.slots[slot].detach()
    prefixes = {1: tuple(G[0]), 2: tuple(E[0]), 3: tuple(E[1])}
    return learner.head(tokens(learner.network, image, prefixes=prefixes)[:1].float())[0]


def test_scores_equal_naive_attention_with_a_slot_for_each_image(setup: Make) -> None:
    learner = fitted(setup(transformer(3)))
    rows = np.arange(12)
    with torch.no_grad():
        batch = learner.augmented(rows)
        for parameter, image in zip(learner.keys, batch.x, strict=False):
            parameter.copy_(tokens(learner.network, image)[0].float())  # so that slots are mixed
        scores, slots = learner.predict(batch.x), []
        for image, score in zip(batch.x, scores, strict=True):
            q = tokens(learner.network, image)[0].float()
            cosines = [float(functional.cosine_similarity(q, k, dim=0)) for k in learner.keys]
            slots.append(int(np.argmax(cosines)))
            torch.testing.assert_close(score, slow(learner, image, slots[-1]), rtol=1e-3, atol=1e-4)
    assert len(set(slots)) == 3


def test_training_uses_the_newest_slot_and_pulls_its_key(setup: Make) -> None:
    learner = fitted(setup(transformer(3)))
    rows = np.flatnonzero(np.isin(learner.setup.train.labels, SESSIONS[2]))[:5]
    batch = learner.augmented(rows)
    learner.requires_grad_(True)
    loss = learner.loss(batch)
    loss.backward()
    with torch.no_grad():
        z = torch.stack([slow(learner, image, 2) for image in batch.x])
        q = torch.stack([tokens(learner.network, image)[0].float() for image in batch.x])
        pull = functional.cosine_similarity(q, learner.keys[2][None]).mean()
        expected = functional.cross_entropy(z[:, 4:], batch.y - 4) - 0.3 * pull
    assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-3)
    for parts in (learner.slots, learner.keys):
        grads = [p.grad for p in parts]
        assert grads[2].any() and not any(g is not None and g.any() for g in grads[:2])
    assert learner.general.grad.any() and not learner.head[0].weight.grad.any()


def test_a_slot_starts_as_a_copy_of_the_one_before_and_its_key_at_random(setup: Make) -> None:
    learner = fitted(setup(transformer(3)), 1)
    learner.begin(np.array([0, 5]))
    assert torch.equal(learner.slots[0], learner.slots[1])
    assert not torch.equal(learner.keys[0], learner.keys[1])
    assert learner.keys[1].abs().max() <= 1


def test_trainable_parameters_are_those_of_the_formula(setup: Make) -> None:
    report = fitted(setup(transformer(3))).report()
    # one G-block and two E-blocks of keys and values
    assert report["trainable_parameters"] == 16 * (2 * 2 + 3 * (4 * 3 + 1)) + 17 * 6


def test_blocks_that_are_not_there_or_named_twice_are_refused(setup: Make) -> None:
    with pytest.raises(InputError, match="2 blocks and the method adds to block 5"):
        methods.build("dualprompt", setup())
    with pytest.raises(InputError, match="different numbers"):
        methods.build("dualprompt", setup(), general_blocks=(1,), expert_blocks=(1, 2))
