"""Adapters, prototypes and their complement in EASE."""

from functools import partial

import numpy as np
import pytest
import torch
from trained import toys
from trained.slow_transformer import tokens
from trained.toys import Make, rows

from sparcl.base.errors import InputError
from study.trained import methods
from study.trained.learner import Trained
from study.trained.methods.ease import complemented

HYPER = {"rate": 0.05, "epochs": 2, "batch": 6, "width": 4, "scale": 0.7, "alpha": 0.3, "beta": 0.2}
fitted = partial(toys.fitted, "ease", HYPER)


def slow_features(learner: Trained, image: torch.Tensor, space: int) -> torch.Tensor:
    adapters = []
    for adapter in learner.adapters[space - 1] if space else ():
        down, up = adapter.down, adapter.up

        def beside(x: torch.Tensor, down=down, up=up) -> torch.Tensor:
            inner = torch.clamp(down.weight.double() @ x + down.bias.double(), min=0)
            return 0.7 * (up.weight.double() @ inner + up.bias.double())

        adapters.append(beside)
    return tokens(learner.network, image, adapters=adapters)[0]


def test_at_the_start_a_set_of_adapters_changes_nothing(setup: Make) -> None:
    learner = methods.build("ease", setup(), **HYPER)
    learner.begin(np.array([1, 4]))
    x = learner.setup.view.plain(learner.setup.train.pixels[:4], "cpu")
    with torch.no_grad():
        assert torch.equal(learner.features(x, 1), learner.network(x))


def test_scores_and_measured_prototypes_equal_a_slow_reference(setup: Make) -> None:
    made = setup()
    learner = fitted(made, 2)
    x = made.view.plain(made.train.pixels[:6], "cpu")
    f = torch.stack(
        [torch.stack([slow_features(learner, image, j) for j in range(3)]) for image in x]
    )
    with torch.no_grad():
        fast = learner.all_features(x)
        torch.testing.assert_close(fast.double(), f, rtol=1e-3, atol=1e-4)
        assert (f[:, 1] - f[:, 0]).abs().max() > 1e-3  # the adapters have learned something
        scores = learner.predict(x)
    measured, P = learner.kept["measured"], learner.kept["prototypes"].double()
    with torch.no_grad():
        everything = learner.all_features(made.view.plain(made.train.pixels, "cpu"))
    for column, label in enumerate(learner.classes):
        mean = everything[torch.from_numpy(made.train.labels == label)].mean(0)
        own = slice(0, 2) if column < 2 else slice(0, 3)
        torch.testing.assert_close(measured[column, own], mean[own], rtol=1e-3, atol=1e-4)
    assert measured[:2, 2].isnan().all() and not measured[2:].isnan().any()
    for i in range(6):
        for column in range(4):
            cosines = [
                float(f[i, j] @ P[column, j] / f[i, j].norm() / P[column, j].norm())
                for j in range(3)
            ]
            own = 1 if column < 2 else 2
            expected = cosines[own] + 0.3 * cosines[3 - own] + 0.2 * cosines[0]
            assert float(scores[i, column]) == pytest.approx(expected, abs=1e-3)


def test_the_training_loss_is_that_of_scaled_cosines(setup: Make) -> None:
    learner = fitted(setup(), 1)
    learner.begin(np.array([0, 5]))
    phase = next(learner.session(rows(learner.setup, 1)))
    weight, scale = phase.parameters[-2:]
    torch.nn.init.normal_(learner.adapters[1][0].up.weight)
    torch.nn.init.constant_(scale, 3.0)
    batch = learner.eval().augmented(rows(learner.setup, 1)[:5])  # without dropout
    expected = 0.0
    with torch.no_grad():
        for image, column in zip(batch.x, batch.y.tolist(), strict=True):
            f = slow_features(learner, image, 2)
            z = [3 * float(f @ w.double() / f.norm() / w.double().norm()) for w in weight]
            expected += (np.log(sum(np.exp(z))) - z[column - 2]) / 5
        assert float(phase.loss(batch)) == pytest.approx(expected, rel=1e-4)


def test_missing_prototypes_are_made_from_later_sessions_class_by_class() -> None:
    rng = torch.Generator().manual_seed(0)
    sizes, ends = [2, 1, 2], [0, 2, 3, 5]
    measured = torch.randn(5, 4, 3, generator=rng)
    for i in range(3):
        measured[ends[i] : ends[i + 1], i + 2 :] = torch.nan
    found = complemented(measured, sizes)
    for i in (1, 2, 3):
        for c in range(ends[i - 1], ends[i]):
            for j in range(i + 1, 4):
                later = range(ends[j - 1], 5)
                alike = [
                    float(torch.cosine_similarity(measured[c, i], measured[o, i], dim=0))
                    for o in later
                ]
                weights = np.exp(alike) / np.exp(alike).sum()
                expected = sum(w * measured[o, j] for w, o in zip(weights, later, strict=True))
                torch.testing.assert_close(found[c, j], expected)
    known = ~measured.isnan()
    assert torch.equal(found[known], measured[known]) and not found.isnan().any()


def test_measured_prototypes_and_old_features_never_change(setup: Make) -> None:
    made = setup()
    learner = fitted(made, 2)
    x = made.view.plain(made.train.pixels[:5], "cpu")
    before, measured = learner.all_features(x).detach(), learner.kept["measured"]
    learner.fit_session(rows(made, 2))
    assert torch.equal(learner.all_features(x)[:, :3].detach(), before)
    now = learner.kept["measured"][:4, :3]
    assert torch.equal(now.nan_to_num(9.0), measured.nan_to_num(9.0))


def test_parameters_and_bad_settings(setup: Make) -> None:
    report = fitted(setup(), 3).report()
    assert report["trainable_parameters"] == 3 * 2 * (2 * 16 * 4 + 4 + 16)
    with pytest.raises(InputError, match=r"dropout = 1\.5"):
        methods.build("ease", setup(), dropout=1.5)
