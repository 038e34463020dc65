"""Prompts of L2P, prefixes of DualPrompt, components of CODA-Prompt."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained import toys
from trained.slow_transformer import tokens
from trained.toys import SESSIONS, Make, rows, transformer

from sparcl.base.errors import InputError
from study.trained import methods
from study.trained.images import Images
from study.trained.learner import Batch, Trained
from study.trained.methods.coda_prompt import orthonormal, quarter_cosine
from study.trained.run import run
from study.trained.setup import Setup

L2P = {"rate": 0.01, "epochs": 1, "batch": 8, "pool": 5, "length": 2, "chosen": 2, "pull": 0.4}
DUAL = {"rate": 0.01, "epochs": 1, "batch": 8, "general_length": 2, "expert_length": 3}
DUAL |= {"general_blocks": (1,), "expert_blocks": (2, 3)}
CODA = {"rate": 0.01, "epochs": 2, "batch": 8, "blocks": (1, 2), "components": 3, "length": 4}
dualprompt = partial(toys.fitted, "dualprompt", DUAL)
coda = partial(toys.fitted, "coda-prompt", CODA)


def l2p(setup: Setup) -> tuple[Trained, Batch]:
    learner = toys.fitted("l2p", L2P, setup, 2)
    return learner, learner.augmented(rows(setup, 1)[:6])


def test_loss_and_scores_equal_a_slow_reference(setup: Make) -> None:
    learner, batch = l2p(setup())
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
    learner, batch = l2p(setup())
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
    learner, _ = l2p(made)
    uses = learner.report()["prompt_uses"]
    assert sum(uses) == 2 * 32 and len(uses) == 5  # two prompts for each image
    assert learner.report()["trainable_parameters"] == 5 * 16 * 3 + 17 * 4


def test_more_prompts_than_the_pool_holds_are_refused(setup: Make) -> None:
    with pytest.raises(InputError, match="chosen = 6 prompts out of a pool of 5"):
        methods.build("l2p", setup(), **L2P | {"chosen": 6})


def slow(learner: Trained, image: torch.Tensor, slot: int) -> torch.Tensor:
    G, E = learner.general.detach(), learner.slots[slot].detach()
    prefixes = {1: tuple(G[0]), 2: tuple(E[0]), 3: tuple(E[1])}
    return learner.head(tokens(learner.network, image, prefixes=prefixes)[:1].float())[0]


def test_scores_equal_naive_attention_with_a_slot_for_each_image(setup: Make) -> None:
    learner = dualprompt(setup(transformer(3)))
    chosen = np.arange(12)
    with torch.no_grad():
        batch = learner.augmented(chosen)
        for parameter, image in zip(learner.keys, batch.x, strict=False):
            parameter.copy_(tokens(learner.network, image)[0].float())  # so that slots are mixed
        scores, slots = learner.predict(batch.x), []
        for image, score in zip(batch.x, scores, strict=True):
            q = tokens(learner.network, image)[0].float()
            cosines = [float(functional.cosine_similarity(q, k, dim=0)) for k in learner.keys]
            slots.append(int(np.argmax(cosines)))
            torch.testing.assert_close(score, slow(learner, image, slots[-1]), rtol=1e-3, atol=1e-4)
    assert len(set(slots)) == 3


def test_training_uses_the_newest_slot_and_no_key(setup: Make) -> None:
    learner = dualprompt(setup(transformer(3)))
    chosen = rows(learner.setup, 2)[:5]
    batch = learner.augmented(chosen)
    learner.requires_grad_(True)
    loss = learner.loss(batch)
    loss.backward()
    with torch.no_grad():
        z = torch.stack([slow(learner, image, 2) for image in batch.x])
        expected = functional.cross_entropy(z[:, 4:], batch.y - 4)
    assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-3)
    grads = [p.grad for p in (*learner.slots, *learner.keys)]
    assert grads[2].any() and not any(g is not None and g.any() for g in grads[:2] + grads[3:])
    assert learner.general.grad.any() and not learner.head[0].weight.grad.any()


def test_the_newest_key_takes_steps_of_adam_towards_the_queries(setup: Make) -> None:
    """One full batch an epoch: four steps by hand, in float64, from the key's start."""
    made = setup(transformer(3))
    learner = dualprompt(made, 1, epochs=4, batch=16, key_rate=0.05)
    again = methods.build("dualprompt", made, **DUAL)
    again.begin(np.array([1, 4]))
    k = again.keys[0].detach().double().numpy()
    x = made.view.plain([made.train.pixels[row] for row in rows(made, 0)], "cpu")
    Q = torch.stack([tokens(made.network, image)[0] for image in x]).numpy()
    U, first, second = Q / np.linalg.norm(Q, axis=1, keepdims=True), 0.0, 0.0
    for step in range(1, 5):
        unit = k / np.linalg.norm(k)
        g = -(U - (U @ unit)[:, None] * unit).mean(0) / np.linalg.norm(k)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        k = k - 0.05 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(learner.keys[0].detach(), k, rtol=1e-3, atol=1e-4)


def test_the_accuracy_of_slots_counts_images_with_the_slot_of_their_session(
    setup: Make, test_images: Images
) -> None:
    made = setup(transformer(3))
    report = run(made, test_images, SESSIONS, "dualprompt", DUAL)["reports"][-1]
    learner, right = dualprompt(made), 0
    with torch.no_grad():
        for image, label in zip(test_images.pixels, test_images.labels, strict=True):
            q = tokens(made.network, made.view.plain([image], "cpu")[0])[0].float()
            cosines = [float(functional.cosine_similarity(q, k, dim=0)) for k in learner.keys]
            right += label in SESSIONS[int(np.argmax(cosines))]
    assert report["slot_accuracy"] == pytest.approx(100 * right / 24) and 0 < right < 24


def test_a_slot_starts_as_a_copy_of_the_one_before_and_its_key_at_random(setup: Make) -> None:
    learner = dualprompt(setup(transformer(3)), 1)
    learner.begin(np.array([0, 5]))
    assert torch.equal(learner.slots[0], learner.slots[1])
    assert not torch.equal(learner.keys[0], learner.keys[1])
    assert learner.keys[1].abs().max() <= 1


def test_trainable_parameters_of_dualprompt_are_those_of_the_formula(setup: Make) -> None:
    report = dualprompt(setup(transformer(3))).report()
    # one G-block and two E-blocks of keys and values
    assert report["trainable_parameters"] == 16 * (2 * 2 + 3 * (4 * 3 + 1)) + 17 * 6


def test_blocks_that_are_not_there_or_named_twice_are_refused(setup: Make) -> None:
    with pytest.raises(InputError, match="2 blocks and the method adds to block 5"):
        methods.build("dualprompt", setup())
    with pytest.raises(InputError, match="different numbers"):
        methods.build("dualprompt", setup(), general_blocks=(1,), expert_blocks=(1, 2))


def test_loss_and_scores_equal_loops_over_components(setup: Make) -> None:
    learner = coda(setup(), 2, orthogonality=0.2)
    chosen = rows(learner.setup, 1)[:4]
    batch = learner.augmented(chosen)
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
    learner = coda(setup(), 1)
    first = [pool[0].detach().clone() for pool in (learner.prompts, learner.keys, learner.focus)]
    learner.begin(np.array([0, 5]))
    for pool, old in zip((learner.prompts, learner.keys, learner.focus), first, strict=True):
        new, old = pool[1].detach().double().flatten(2), old.double().flatten(2)
        eye = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
        torch.testing.assert_close(new @ new.transpose(1, 2), eye, rtol=0, atol=1e-6)
        assert (new @ old.transpose(1, 2)).abs().max() < 1e-6
    two = coda(setup(), 2)
    for pool, old in zip((two.prompts, two.keys, two.focus), first, strict=True):
        assert torch.equal(pool[0], old)


def test_heads_and_components_start_with_their_deviation_in_all_directions(setup: Make) -> None:
    D = 2000
    weights = {"finetune": D**-0.5, "l2p": 0.02, "dualprompt": 0.02, "slca": 0.02}
    for name, deviation in (weights | {"coda-prompt": (3 * D) ** -0.5}).items():
        learner = methods.build(name, setup(transformer(5)))
        learner.d = D
        learner.begin(np.array([1, 4]))
        head = learner.head[0]
        assert float(head.weight.detach().std()) == pytest.approx(deviation, rel=0.05), name
        assert bool(head.bias.any()) == (name == "coda-prompt")
        assert head.weight.abs().max() > 2.5 * deviation or name in ("finetune", "coda-prompt")
    for pool in (learner.prompts, learner.keys, learner.focus):
        parts = pool[0].detach().flatten(2)
        cosines = parts.sum(2).abs() / parts.shape[2] ** 0.5  # with the vector of ones
        assert cosines.max() < 4.5 / parts.shape[2] ** 0.5


def test_gram_schmidt_equals_the_textbook() -> None:
    chosen = torch.randn(1, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, basis = orthonormal(chosen, 0)[0], []
    for row in chosen[0]:
        left = row - sum((row @ b) * b for b in basis)
        basis.append(left / left.norm())
    torch.testing.assert_close(found, torch.stack(basis))


def test_the_rate_falls_to_almost_nothing_and_one_epoch_is_possible() -> None:
    assert quarter_cosine(0, 20) == 1 and quarter_cosine(0, 1) == 1
    assert quarter_cosine(19, 20) == pytest.approx(np.cos(99 * np.pi / 200))


def test_more_components_than_dimensions_are_refused(setup: Make) -> None:
    learner = coda(setup(), 1, components=9)
    chosen = rows(learner.setup, 1)
    with pytest.raises(InputError, match=r"session 2: 18 components .* 16 dimensions"):
        learner.fit_session(chosen)
    with pytest.raises(InputError, match="even number"):
        methods.build("coda-prompt", setup(), **CODA | {"length": 3})


def test_trainable_parameters_of_coda_prompt_are_those_of_the_formula(setup: Make) -> None:
    assert coda(setup(), 3).report()["trainable_parameters"] == 2 * 9 * 16 * 6 + 17 * 6
