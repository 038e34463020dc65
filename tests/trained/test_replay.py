"""Exemplars and means of iCaRL, reservoir of DER++, boosting and compression of FOSTER."""

import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from reference.heads import herding
from torch.nn import functional
from trained import toys
from trained.toys import SESSIONS, Make, rows

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from study.methods.derpp_head import reservoir_slots
from study.methods.icarl_nme import herded
from study.trained import losses, methods
from study.trained.images import Images
from study.trained.learner import Batch, Trained
from study.trained.methods.foster import Pair
from study.trained.phase import Phase
from study.trained.rehearsal import flat, renewed
from study.trained.setup import Setup

ICARL = {"rate": 0.01, "epochs": 2, "batch": 6, "memory": 24}
DERPP = {"rate": 0.01, "epochs": 3, "batch": 6, "buffer": 10}
FOSTER = {"rate": 0.02, "epochs": 2, "compression": 2, "batch": 8, "per_class": 3}
icarl, derpp = partial(toys.fitted, "icarl", ICARL), partial(toys.fitted, "derpp", DERPP)
foster = partial(toys.fitted, "foster", FOSTER)


def test_exemplars_are_herded_and_old_lists_are_cut() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(30, 5)), np.repeat([7, 2, 9], 10)
    chosen = torch.arange(100, 130)
    lists = renewed(torch.zeros((0, 0), dtype=torch.int64), features, labels, chosen, 6)
    for position, label in enumerate((2, 7, 9)):
        own = np.flatnonzero(labels == label)
        expected = own[herding(unit(features[own]), 6)] + 100
        np.testing.assert_array_equal(lists[position], expected)
    more = renewed(lists, features[:10], labels[:10], chosen[:10], 4)
    assert torch.equal(more[:3], lists[:, :4]) and more.shape == (4, 4)
    few = renewed(lists[:, :0], features[:2], labels[:2], chosen[:2], 4)
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
    learner = icarl(made, 2, distillation=kind)
    teacher = icarl(made, 1, distillation=kind)
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
    learner = icarl(made, 1)
    make = learner.teacher
    monkeypatch.setattr(learner, "teacher", lambda: teachers.append(make()) or teachers[-1])
    x = made.view.plain(made.train.pixels[:5], "cpu")
    with torch.no_grad():
        before = learner.head(learner.network(x))
    learner.fit_session(rows(made, 1))
    assert torch.equal(teachers[0](x), before)  # two columns, trained no further


def test_the_nearest_mean_of_exemplars_predicts_whatever_the_head(
    setup: Make, test_images: Images
) -> None:
    made = setup()
    learner = icarl(made, 3)
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


@pytest.mark.parametrize("make", [icarl, foster])
def test_a_memory_without_room_for_each_class_is_refused_before_training(
    make: Callable[..., Trained], setup: Make, test_images: Images
) -> None:
    learner = make(setup(), 1, memory=3, per_class=0)
    scores = learner.scores(test_images)
    with pytest.raises(InputError, match=r"session 2: a memory of 3 .* 4 classes.*`memory`"):
        learner.fit_session(rows(learner.setup, 1))
    np.testing.assert_array_equal(learner.scores(test_images), scores)


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


def test_the_loss_adds_stored_logits_and_stored_labels(setup: Make) -> None:
    """Buffer smaller than a batch and no augmentation: both draws are the whole buffer."""
    made = setup()
    learner = derpp(made, 2, buffer=5)
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
    learner = methods.build("derpp", made, **DERPP)
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


def boosted(setup: Setup) -> Trained:
    """Return a learner whose second session begins."""
    learner = foster(setup, 1)
    learner.begin(np.unique(SESSIONS[1]))
    return learner


def test_with_new_columns_at_zero_the_pair_has_the_old_logits_exactly(setup: Make) -> None:
    made = setup()
    learner = foster(made, 1)
    x = made.view.plain(made.train.pixels[:6], "cpu")
    with torch.no_grad():
        before = learner.predict(x)
        learner.begin(np.unique(SESSIONS[1]))
        pair = learner.pair()
        assert pair.head.weight[:2, 16:].abs().min() > 0
        pair.head.weight[:2, 16:] = 0
        torch.testing.assert_close(pair(x)[:, :2], before, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(learner.predict(x)[:, :2], before, rtol=1e-5, atol=1e-6)


def test_class_weights_and_the_loss_of_boosting_are_written_out(setup: Make) -> None:
    learner = boosted(setup())
    made, pair = learner.setup, learner.pair()
    replayed = np.concatenate([rows(made, 1), [1, 1 + 6, 4]])  # eight, eight, two and one images
    w = learner.class_weights(replayed, 0.9)
    raw = np.array([0.1 / (1 - 0.9**n) for n in (2, 1, 8, 8)])
    np.testing.assert_allclose(w, raw / raw.mean(), rtol=1e-6)
    batch = learner.augmented(replayed)
    with torch.no_grad():
        pair.new.blocks[0].mlp.fc1.weight += 0.1
        old, new = pair.old(batch.x), pair.new(batch.x)
        z = torch.cat([old, new], 1) @ pair.head.weight.T + pair.head.bias
        z_o = old @ learner.head[0].weight.T + learner.head[0].bias
        expected = (
            functional.cross_entropy(z / w, batch.y)
            + functional.cross_entropy(pair.auxiliary(new), batch.y)
            + 0.7 * losses.distillation(z[:, :2], z_o)
        )
        assert float(pair.loss(batch, w, 0.7)) == pytest.approx(float(expected), rel=1e-5)


def test_equal_counts_make_compression_plain_distillation(setup: Make) -> None:
    learner = boosted(setup())
    pair = learner.pair()
    everything = rows(learner.setup, 0, 1)
    w = learner.class_weights(everything, 0.97)
    assert torch.equal(w, torch.ones(4))
    batch = learner.augmented(everything[:7])
    with torch.no_grad():
        expected = losses.distillation(learner.predict(batch.x), pair(batch.x))
        torch.testing.assert_close(learner.compression_loss(batch, pair, w), expected)
        uneven = torch.tensor([2.0, 0.5, 1.0, 0.5])
        p = (pair(batch.x) / 2).softmax(1) * uneven
        p, q = p / p.sum(1, keepdim=True), (learner.predict(batch.x) / 2).softmax(1)
        torch.testing.assert_close(
            learner.compression_loss(batch, pair, uneven), -(p * q.log()).sum() / 7
        )


def test_each_phase_has_its_weights_and_the_pair_chooses_the_exemplars(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = setup()
    learner = foster(made, 1)
    boost, compress, used = Pair.loss, learner.compression_loss, {}

    def boosting(pair: Pair, batch: Batch, weights: torch.Tensor, factor: float) -> torch.Tensor:
        used["boosting"], used["pair"] = weights, pair
        return boost(pair, batch, weights, factor)

    def compression(batch: Batch, pair: Pair, weights: torch.Tensor) -> torch.Tensor:
        used["compression"] = weights
        return compress(batch, pair, weights)

    monkeypatch.setattr(Pair, "loss", boosting)
    monkeypatch.setattr(learner, "compression_loss", compression)
    learner.fit_session(rows(made, 1))
    for phase, beta in (("boosting", 0.96), ("compression", 0.97)):
        raw = np.array([(1 - beta) / (1 - beta**n) for n in (3, 3, 8, 8)])
        np.testing.assert_allclose(used[phase], raw / raw.mean(), rtol=1e-6)
    for column, label in ((2, 0), (3, 5)):
        own = np.flatnonzero(made.train.labels == label)
        features = learner.train_scan(used["pair"].features, own).double().numpy()
        assert features.shape == (8, 32)
        chosen = own[herded(unit(features), 3)]
        assert learner.kept["exemplars"][column].tolist() == chosen.tolist()


def test_the_pair_is_reported_apart_and_exemplars_are_kept(
    setup: Make, test_images: Images
) -> None:
    made = setup()
    learner = foster(made, 1)
    assert not learner.others()
    learner.fit_session(rows(made, 1))
    scores = learner.scan(learner.others()["pair"][0], test_images).numpy()
    assert scores.shape == (24, 4) and not np.allclose(scores, learner.scores(test_images))
    assert learner.exemplars() == 12 and learner.kept["exemplars"].shape == (4, 3)
    P = sum(p.numel() for p in made.network.parameters())
    assert learner.report()["trainable_parameters"] == P + 4 * (3 * 16 + 2)


def test_at_most_three_networks_are_held(setup: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The student and one pair: that of the session before is gone when the next is trained."""
    made, held, train = setup(), [], Trained._train
    networks: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
    learner, start = foster(made, 1), Pair.__init__

    def noted(pair: Pair, *given: object) -> None:
        start(pair, *given)
        networks.update([pair.old, pair.new])

    def watched(learner: Trained, phase: Phase, where: str) -> float:
        held.append((phase.name, 1 + len(networks)))
        return train(learner, phase, where)

    monkeypatch.setattr(Pair, "__init__", noted)
    monkeypatch.setattr(Trained, "_train", watched)
    for session in (1, 2):
        learner.fit_session(rows(made, session))
    assert held == [("boosting", 3), ("compression", 3)] * 2
