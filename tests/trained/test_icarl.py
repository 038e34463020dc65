"""Exemplars, distillation and the nearest mean of iCaRL."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.toys import SESSIONS

from sparcl.base.errors import InputError
from study.trained import losses, methods
from study.trained.images import Images
from study.trained.learner import Batch, Trained
from study.trained.rehearsal import flat, renewed
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.01, "epochs": 2, "batch": 6, "memory": 24}


def fitted(setup: Setup, sessions: int, **hyper: object) -> Trained:
    learner = methods.build("icarl", setup, **HYPER | hyper)
    for classes in SESSIONS[:sessions]:
        learner.fit_session(np.flatnonzero(np.isin(setup.train.labels, classes)))
    return learner


def brute_force(features: np.ndarray, m: int) -> list[int]:
    """Return the exemplars that iCaRL's algorithm 4 chooses, by trying every image at each step."""
    u = features / np.linalg.norm(features, axis=1, keepdims=True)
    mean, chosen = u.mean(0), []
    for k in range(1, m + 1):
        left = [i for i in range(len(u)) if i not in chosen]
        distance = [np.linalg.norm(mean - u[[*chosen, i]].sum(0) / k) for i in left]
        chosen.append(left[int(np.argmin(distance))])
    return chosen


def test_exemplars_are_herded_and_old_lists_are_cut() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(30, 5)), np.repeat([7, 2, 9], 10)
    rows = torch.arange(100, 130)
    lists = renewed(torch.zeros((0, 0), dtype=torch.int64), features, labels, rows, 6)
    for position, label in enumerate((2, 7, 9)):
        own = np.flatnonzero(labels == label)
        expected = own[brute_force(features[own], 6)] + 100
        np.testing.assert_array_equal(lists[position], expected)
    more = renewed(lists, features[:10], labels[:10], rows[:10], 4)
    assert torch.equal(more[:3], lists[:, :4]) and more.shape == (4, 4)
    few = renewed(lists[:, :0], features[:2], labels[:2], rows[:2], 4)
    assert few[-1].tolist()[2:] == [-1, -1] and len(flat(few)) == 2


def test_distillation_is_the_formula_and_at_rest_where_student_and_teacher_agree() -> None:
    rng = torch.Generator().manual_seed(0)
    z, teacher = torch.randn(2, 5, 4, generator=rng).double()
    p, q = (torch.exp(v / 2) / torch.exp(v / 2).sum(1, keepdim=True) for v in (teacher, z))
    expected = -(p * q.log()).sum() / 5
    torch.testing.assert_close(losses.distillation(z, teacher), expected)
    z.requires_grad_()
    losses.distillation(z, z.detach()).backward()
    assert z.grad is not None and z.grad.abs().max() < 1e-15


@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
def test_the_loss_equals_one_written_out(setup: Make, kind: str) -> None:
    made = setup()
    learner = fitted(made, 2, distillation=kind)
    teacher = fitted(made, 1, distillation=kind)
    old = torch.nn.Sequential(teacher.network, teacher.head)
    x = made.view.plain(made.train.pixels[:12], "cpu")
    y = torch.from_numpy(np.arange(12) % 4)
    with torch.no_grad():
        z, before = learner.head(learner.network(x)), old(x)
        got = float(learner.loss(Batch(x, y, np.arange(12)), old))
    if kind == "softmax":
        expected = functional.cross_entropy(z, y) + losses.distillation(z[:, :2], before)
    else:
        terms = []
        for i in range(12):
            for c in range(4):
                s = torch.sigmoid(z[i, c])
                target = torch.sigmoid(before[i, c]) if c < 2 else torch.tensor(float(y[i] == c))
                terms.append(-(target * s.log() + (1 - target) * (1 - s).log()))
        expected = torch.stack(terms).mean()
    assert got == pytest.approx(float(expected), rel=1e-5)


def test_the_teacher_is_the_network_before_the_session(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, teachers = setup(), []
    learner = fitted(made, 1)
    make = learner.teacher
    monkeypatch.setattr(learner, "teacher", lambda: teachers.append(make()) or teachers[-1])
    x = made.view.plain(made.train.pixels[:5], "cpu")
    with torch.no_grad():
        before = learner.head(learner.network(x))
    learner.fit_session(np.flatnonzero(np.isin(made.train.labels, SESSIONS[1])))
    assert torch.equal(teachers[0](x), before)  # two columns, trained no further


def test_the_nearest_mean_of_exemplars_predicts_whatever_the_head(
    setup: Make, test_images: Images
) -> None:
    made = setup()
    learner = fitted(made, 3)
    scores = learner.scores(test_images)
    lists = learner.kept["exemplars"]
    assert lists.shape == (6, 4) and learner.exemplars() == 24
    assert (made.train.labels[lists] == learner.classes[:, None]).all()
    with torch.no_grad():
        f = learner.network(made.view.plain(test_images.pixels, "cpu"))
        f = f / f.norm(dim=1, keepdim=True)
        for column, own in enumerate(lists.tolist()):
            e = learner.network(made.view.plain([made.train.pixels[r] for r in own], "cpu"))
            mean = (e / e.norm(dim=1, keepdim=True)).mean(0)
            expected = f @ mean / mean.norm()
            np.testing.assert_allclose(scores[:, column], expected, rtol=1e-4, atol=1e-5)
    for parameter in learner.head.parameters():
        torch.nn.init.zeros_(parameter)
    np.testing.assert_array_equal(learner.scores(test_images), scores)


def test_a_memory_without_room_for_each_class_is_refused_before_training(
    setup: Make, test_images: Images
) -> None:
    learner = fitted(setup(), 1, memory=3)
    scores = learner.scores(test_images)
    rows = np.flatnonzero(np.isin(learner.setup.train.labels, SESSIONS[1]))
    with pytest.raises(InputError, match=r"icarl, session 2: a memory of 3 .* 4 classes.*`memory`"):
        learner.fit_session(rows)
    np.testing.assert_array_equal(learner.scores(test_images), scores)
