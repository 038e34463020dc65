"""Boosting and compression of FOSTER."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from trained.toys import SESSIONS, convolutional

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.methods.icarl_nme import herded
from study.trained import losses, methods
from study.trained.images import Images
from study.trained.learner import Batch, Trained
from study.trained.methods.foster import Pair
from study.trained.phase import Phase
from study.trained.setup import Setup

Make = Callable[..., Setup]
HYPER = {"rate": 0.02, "epochs": 2, "compression": 2, "batch": 8, "per_class": 3}


def rows(setup: Setup, session: int) -> np.ndarray:
    return np.flatnonzero(np.isin(setup.train.labels, SESSIONS[session]))


def boosted(setup: Setup) -> Trained:
    """Return a learner whose second session begins."""
    learner = methods.build("foster", setup, **HYPER)
    learner.fit_session(rows(setup, 0))
    learner.begin(np.unique(SESSIONS[1]))
    return learner


def test_with_new_columns_at_zero_the_pair_has_the_old_logits_exactly(setup: Make) -> None:
    made = setup()
    learner = methods.build("foster", made, **HYPER)
    learner.fit_session(rows(made, 0))
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
    everything = np.flatnonzero(np.isin(learner.setup.train.labels, learner.classes))
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


def test_boosting_leaves_the_old_network_alone_and_compression_the_pair(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BatchNorm's statistics included: the old network of a pair is never in training mode."""
    made = setup(convolutional())
    learner = methods.build("foster", made, **HYPER)
    pairs, make, train = [], learner.pair, learner._train

    def noted() -> torch.nn.Module:
        pairs.append(make())
        return pairs[-1]

    def watched(phase: Phase, where: str) -> float:
        frozen = {"boosting": [pairs[-1].old, pairs[-1].old_head, learner.network]} if pairs else {}
        frozen |= {"compression": [pairs[-1]]} if pairs else {}
        modules = frozen.get(phase.name, [])
        before = [t.clone() for m in modules for t in m.state_dict().values()]
        loss = train(phase, where)
        after = [t for m in modules for t in m.state_dict().values()]
        assert all(map(torch.equal, before, after))
        seen.append(phase.name)
        return loss

    seen: list[str] = []
    monkeypatch.setattr(learner, "pair", noted)
    monkeypatch.setattr(learner, "_train", watched)
    for session in range(2):
        learner.fit_session(rows(made, session))
    assert seen == ["training", "boosting", "compression"]


def test_each_phase_has_its_weights_and_the_pair_chooses_the_exemplars(
    setup: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = setup()
    learner = methods.build("foster", made, **HYPER)
    learner.fit_session(rows(made, 0))
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
    learner = methods.build("foster", made, **HYPER)
    learner.fit_session(rows(made, 0))
    assert not learner.others()
    learner.fit_session(rows(made, 1))
    scores = learner.scan(learner.others()["pair"], test_images).numpy()
    assert scores.shape == (24, 4) and not np.allclose(scores, learner.scores(test_images))
    assert learner.exemplars() == 12 and learner.kept["exemplars"].shape == (4, 3)
    P = sum(p.numel() for p in made.network.parameters())
    assert learner.report()["trainable_parameters"] == P + 4 * (3 * 16 + 2)


def test_a_memory_without_room_for_each_class_is_refused(setup: Make) -> None:
    made = setup()
    learner = methods.build("foster", made, **HYPER | {"per_class": 0, "memory": 3})
    learner.fit_session(rows(made, 0))
    with pytest.raises(InputError, match=r"foster, session 2: a memory of 3 .* 4 classes"):
        learner.fit_session(rows(made, 1))
