"""Fine-tuning and the two references that rest on it."""

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.toys import SESSIONS, Make, fitted, rows, transformer

from study.trained import losses, methods

HYPER = {"rate": 0.02, "epochs": 2, "batch": 5}


def test_the_masked_loss_is_the_full_one_with_old_logits_at_minus_infinity() -> None:
    z = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([3, 4, 4, 3, 3, 4, 3])
    masked = z.clone()
    masked[:, :3] = -torch.inf
    torch.testing.assert_close(losses.cross_entropy(z, y, 3), functional.cross_entropy(masked, y))


@pytest.mark.parametrize(
    ("decay", "logits", "same"), [(0.0, "new", True), (0.1, "new", False), (0.0, "seen", False)]
)
def test_old_rows_of_the_head_stay_to_the_bit_without_weight_decay_and_old_columns(
    setup: Make, decay: float, logits: str, same: bool
) -> None:
    made = setup()
    learner = fitted("finetune", HYPER, made, 1, decay=decay, logits=logits)
    old = learner.head[0].weight.detach().clone()
    learner.fit_session(rows(made, 1))
    assert torch.equal(learner.head[0].weight, old) == same


def test_one_session_equals_a_training_written_by_hand(setup: Make) -> None:
    """Full batches and no augmentation: nothing is left to chance but the head's start."""
    made = setup()
    everything = rows(made, 0, 1, 2)
    learner = methods.build("finetune", made, rate=0.02, epochs=3, batch=48, decay=0.01)
    x = made.view.plain(made.train.pixels, "cpu")
    y = torch.from_numpy(made.train.labels)
    twin = methods.build("finetune", made)
    twin.begin(np.arange(6))  # the same draws: same method, seed and session
    model = torch.nn.Sequential(transformer(), torch.nn.Linear(16, 6))
    model[1].load_state_dict(twin.head[0].state_dict())
    velocity = [torch.zeros_like(p) for p in model.parameters()]
    for _ in range(3):
        model.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for p, v in zip(model.parameters(), velocity, strict=True):
                v.mul_(0.9).add_(p.grad + 0.01 * p)
                p -= 0.02 * v
    learner.fit_session(everything)
    with torch.no_grad():
        np.testing.assert_allclose(
            learner.scores(made.train), model(x).numpy(), rtol=1e-3, atol=1e-4
        )


def test_joint_training_starts_from_the_pretrained_network(setup: Make) -> None:
    """After two sessions it is what one session with all these images gives, up to its draws."""
    made = setup()
    learner = fitted("joint", HYPER, made, 2)
    assert learner.exemplars() == 32
    # the views, batches and head of session 2, on a learner that never saw session 1
    fresh = methods.build("joint", made, **HYPER)
    fresh.kept["rows"] = torch.from_numpy(rows(made, 0))
    fresh.sizes, fresh.classes = [2], SESSIONS[0][::-1].copy()
    fresh.fit_session(rows(made, 1))
    np.testing.assert_array_equal(learner.scores(made.train), fresh.scores(made.train))


def test_a_linear_probe_leaves_the_network_alone_and_out_of_its_state(setup: Make) -> None:
    made = setup()
    learner = fitted("linear-probe", HYPER, made, 1)
    assert all(
        torch.equal(a, b)
        for a, b in zip(learner.network.parameters(), made.network.parameters(), strict=True)
    )
    saved = {key for key in learner.state() if key.startswith("tensors/")}
    assert saved == {"tensors/head.0.weight", "tensors/head.0.bias"}
    assert learner.report()["trainable_parameters"] == 2 * 17
