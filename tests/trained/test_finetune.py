"""Fine-tuning and the two references beside it."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.nn import functional
from trained.toys import SESSIONS, Make, convolutional, fitted, rows, transformer

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
    learner = fitted("finetune", HYPER, made, 1, decay=decay, logits=logits, slow=0.5)
    old = learner.head[0].weight.detach().clone()
    learner.fit_session(rows(made, 1))
    assert torch.equal(learner.head[0].weight, old) == same


def test_one_session_equals_a_training_written_by_hand(setup: Make) -> None:
    """Full batches and no augmentation: nothing is left to chance but the head's start."""
    made = setup()
    everything = rows(made, 0, 1, 2)
    learner = methods.build("finetune", made, rate=0.02, slow=0.3, epochs=3, batch=48, decay=0.01)
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
            for (name, p), v in zip(model.named_parameters(), velocity, strict=True):
                v.mul_(0.9).add_(p.grad + 0.01 * p)
                p -= 0.02 * (1 if name.startswith("1.") else 0.3) * v
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


def test_a_linear_probe_ends_at_the_minimum_of_its_convex_loss(setup: Make) -> None:
    """Full batches without augmentation; the minimum by BFGS on the features, in float64."""
    made = setup()
    probe = methods.build("linear-probe", made, rate=0.2, epochs=400, batch=48, decay=0.1)
    probe.fit_session(np.arange(48))
    with torch.no_grad():
        X = made.network(made.view.plain(made.train.pixels, "cpu")).double().numpy()
    X, Y = np.column_stack([X, np.ones(48)]), np.eye(6)[made.train.labels]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(6, 17)
        Z = X @ W.T
        P = np.exp(Z - Z.max(1, keepdims=True))
        P /= P.sum(1, keepdims=True)
        value = -np.log((P * Y).sum(1)).mean() + 0.05 * (W**2).sum()
        return value, ((P - Y).T @ X / 48 + 0.1 * W).ravel()

    found = minimize(loss, np.zeros(6 * 17), jac=True, tol=1e-10).x.reshape(6, 17)
    head = probe.head[0]
    got = torch.cat([head.weight, head.bias[:, None]], dim=1).detach().numpy()
    np.testing.assert_allclose(got, found, atol=1e-4)


@pytest.mark.parametrize("name", ["finetune", "icarl", "derpp", "joint", "slca", "foster"])
def test_batchnorm_keeps_its_statistics_and_weights_are_trained(name: str, setup: Make) -> None:
    made = setup(convolutional())
    hyper = {"foster": {}}.get(name, {"slow": 0.5})
    learner = fitted(name, {"rate": 0.02, "epochs": 1, "batch": 8} | hyper, made, 1)
    before, after = (dict(net.named_buffers()) for net in (made.network, learner.network))
    assert any("running_var" in key for key in before)
    assert all(torch.equal(before[key], after[key]) for key in before)
    pairs = zip(made.network.parameters(), learner.network.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs)
