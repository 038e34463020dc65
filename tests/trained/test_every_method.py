"""What must hold for every trained method, on three sessions of a small transformer."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from trained import toys
from trained.toys import SESSIONS, Make, convolutional, rows, transformer

from sparcl.base.errors import InputError, NumericalError
from sparcl.base.npz import read_npz, write_npz
from study.trained import methods
from study.trained.images import Images
from study.trained.learner import Trained
from study.trained.phase import Phase
from study.trained.run import run
from study.trained.setup import Setup

FAST: dict[str, dict[str, Any]] = {
    "finetune": {"rate": 0.02, "epochs": 4, "batch": 6, "slow": 1.0},
    "joint": {"rate": 0.02, "epochs": 2, "batch": 6, "slow": 0.5},
    "icarl": {"rate": 0.02, "epochs": 2, "batch": 6, "slow": 0.5, "memory": 18},
    "derpp": {"rate": 0.02, "epochs": 2, "batch": 6, "slow": 0.5, "buffer": 12},
    "l2p": {"rate": 0.01, "epochs": 2, "batch": 8, "pool": 4, "length": 2, "chosen": 2},
    "dualprompt": {
        "rate": 0.01,
        "epochs": 2,
        "batch": 8,
        "general_blocks": (1,),
        "expert_blocks": (2,),
    },
    "coda-prompt": {"rate": 0.01, "epochs": 2, "batch": 8, "blocks": (1, 2), "components": 2},
    "slca": {"rate": 0.02, "epochs": 2, "batch": 6, "slow": 0.1, "alignment": 2},
    "ease": {"rate": 0.05, "epochs": 2, "batch": 6, "width": 4, "scale": 1.0, "beta": 0.5},
    "foster": {"rate": 0.02, "epochs": 2, "compression": 2, "batch": 8, "per_class": 3},
    "linear-probe": {"rate": 0.05, "epochs": 2, "batch": 6},
}
HARD = {"rate": 0.02, "slow": 1.0, "batch": 6}  # on a network that was never trained
NEEDS_TOKENS = {"l2p", "dualprompt", "coda-prompt", "ease"}
CONVOLUTIONAL = sorted(set(FAST) - NEEDS_TOKENS)
MEASURED = ("seconds", "peak_bytes")

State = dict[str, Any]


def counts(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in MEASURED}


def fitted(setup: Setup, name: str, sessions: int = 3, **hyper: Any) -> Trained:
    return toys.fitted(name, FAST[name], setup, sessions, **hyper)


def test_every_method_is_tried_here() -> None:
    assert sorted(FAST) == methods.names()


@pytest.mark.parametrize(
    ("name", "network"),
    [*((name, transformer) for name in FAST), *((name, convolutional) for name in CONVOLUTIONAL)],
)
def test_a_killed_run_goes_on_to_the_same_record(
    name: str,
    network: Callable[[], torch.nn.Module],
    setup: Make,
    test_images: Images,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the checkpoint as it lies when the last session begins."""
    made = setup(network(), augmentation="resized-crop" if network is transformer else "none")
    before = [tensor.clone() for tensor in made.network.state_dict().values()]
    path, kept = tmp_path / "checkpoint.npz", tmp_path / "kept.npz"
    fit = Trained.fit_session

    def keeping(learner: Trained, rows: np.ndarray) -> None:
        if learner.number == 2:
            shutil.copy(path, kept)
        fit(learner, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Trained, "fit_session", keeping)
        whole = run(made, test_images, SESSIONS, name, FAST[name], path)
    assert network is transformer or np.sum(whole["correct"][0]) >= 4  # of 8
    assert not path.exists()
    kept.rename(path)
    resumed = run(made, test_images, SESSIONS, name, FAST[name], path)
    assert counts(resumed) == counts(whole) and len(resumed["seconds"]) == 3
    assert not path.exists()
    after = made.network.state_dict().values()
    assert all(map(torch.equal, before, after))  # the caller's network


@pytest.mark.parametrize("name", FAST)
def test_a_phase_changes_what_it_declares_and_an_image_scores_alike_in_any_batch(
    name: str, setup: Make, test_images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, phases = Trained._train, []

    def watched(learner: Trained, phase: Phase, where: str) -> float:
        declared = {id(p) for p in phase.parameters}
        others = {
            key: tensor
            for key, tensor in [*learner.named_parameters(), *learner.named_buffers()]
            if id(tensor) not in declared
        }
        frozen = {key: tensor.detach().clone() for key, tensor in others.items()}
        kept = {key: tensor.clone() for key, tensor in learner.kept.items()}
        own = [p.detach().clone() for p in phase.parameters]
        compute = phase.loss

        def checked(batch: Any) -> torch.Tensor:
            assert all(p.requires_grad == (id(p) in declared) for p in learner.parameters())
            loss = compute(batch)
            loss.backward(retain_graph=True)
            assert all(p.grad is not None for p in phase.parameters)
            return loss

        phase.loss = checked
        loss = train(learner, phase, where)
        assert all(p.grad is None for p in [*learner.parameters(), *phase.parameters])
        assert all(torch.equal(others[key], frozen[key]) for key in frozen)
        if phase.after_step is None:
            for key in kept:  # nan stands for what is not known yet
                torch.testing.assert_close(
                    learner.kept[key], kept[key], rtol=0, atol=0, equal_nan=True
                )
        assert any(not torch.equal(a, b) for a, b in zip(own, phase.parameters, strict=True))
        phases.append(phase.name)
        return loss

    monkeypatch.setattr(Trained, "_train", watched)
    learner = fitted(setup(), name)
    assert len(phases) >= 3
    batched = learner.scores(test_images)
    for row in (0, 5):
        alone = Images([test_images.pixels[row]], test_images.labels[[row]], 6)
        np.testing.assert_allclose(learner.scores(alone)[0], batched[row], rtol=1e-4, atol=1e-5)
    assert batched.shape == (24, 6)


@pytest.mark.parametrize("name", FAST)
def test_later_sessions_are_never_looked_at_and_refused_ones_leave_the_learner_as_it_was(
    name: str, setup: Make, test_images: Images
) -> None:
    made = setup()
    later = np.isin(made.train.labels, SESSIONS[2])
    pixels = [
        np.zeros_like(p) if hide else p for p, hide in zip(made.train.pixels, later, strict=True)
    ]
    blind = Setup(made.network, Images(pixels, made.train.labels, 6), made.view)
    learners = [fitted(s, name, sessions=2) for s in (made, blind)]
    before = learners[0].scores(test_images)
    np.testing.assert_array_equal(learners[1].scores(test_images), before)
    with pytest.raises(InputError, match=f"{name}, session 3: class 1 came in an earlier session"):
        learners[0].fit_session(np.array([1]))
    np.testing.assert_array_equal(learners[0].scores(test_images), before)


@pytest.mark.parametrize("name", FAST)
def test_a_loss_that_is_not_finite_names_method_session_and_remedy(name: str, setup: Make) -> None:
    network = transformer()
    network.patch_embed.proj.weight.data[0] = torch.nan
    learner = methods.build(name, setup(network), **FAST[name])
    with pytest.raises(
        NumericalError, match=rf"(?s){name}, session 1, .*loss is .*`rate`, here up to .*lower it"
    ):
        learner.fit_session(rows(learner.setup, 0))


@pytest.mark.parametrize("name", sorted(NEEDS_TOKENS & set(FAST)))
def test_a_network_without_tokens_is_refused(name: str, setup: Make) -> None:
    with pytest.raises(InputError, match=f"{name}: ResNet has no class token.*vit_base"):
        methods.build(name, setup(convolutional()))


def test_a_record_is_that_of_other_methods_and_more(setup: Make, test_images: Images) -> None:
    record = run(setup(), test_images, SESSIONS, "joint", HARD | {"epochs": 10})
    assert json.loads(json.dumps(record)) == record
    assert record["classes"] == [4, 1, 0, 5, 2, 3] and record["test_counts"] == [4] * 6
    assert np.triu(np.array(record["correct"])[:, ::2], 1).sum() == 0
    assert sum(record["correct"][2]) >= 22 and not record["underfitted"]
    assert (
        record["hyper"]["decay"] == 5e-4 and record["drift"][0] is None and record["drift"][1] > 0
    )
    assert len(record["seconds"]) == 3 and record["peak_bytes"] > 2**20
    assert [r["exemplars"] for r in record["reports"]] == [16, 32, 48]
    P = sum(p.numel() for p in transformer().parameters())
    assert record["trainable_parameters"] == P + 17 * 6


def test_a_run_refuses_the_checkpoint_of_another(
    setup: Make, test_images: Images, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.npz"
    write_npz(path, {"done": json.dumps({"fingerprint": "another"})})
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*another run"):
        run(setup(), test_images, SESSIONS, "finetune", FAST["finetune"], path)
    path.write_bytes(b"half a fi")
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*Delete it"):
        run(setup(), test_images, SESSIONS, "finetune", FAST["finetune"], path)


def test_a_checkpoint_that_was_changed_is_refused(
    setup: Make, test_images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, made = tmp_path / "checkpoint.npz", setup()

    def go() -> None:
        run(made, test_images, SESSIONS, "finetune", FAST["finetune"], path)

    with monkeypatch.context() as patch:
        # what a finished run does with it
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        go()
    kept = read_npz(path)
    with np.load(path) as file:
        packed = dict(file)
    for name in ("tensors/head.0.weight", "scores/0"):
        array = packed[name].copy()
        array.flat[0] += 1
        np.savez(path, **packed | {name: array})
        with pytest.raises(InputError, match=f"{re.escape(str(path))}.*{name}.*seal.*Delete it"):
            go()
    head = "tensors/head.0.weight"  # behind a seal that fits
    for change in ({head: kept[head][:1]}, {"tensors/head.3.weight": kept[head]}, {"done": "["}):
        write_npz(path, kept | change)
        with pytest.raises(InputError, match=re.escape(str(path)) + ".*Delete it"):
            go()
    write_npz(path, kept)
    go()


def test_unknown_settings_are_refused_by_name(setup: Make) -> None:
    with pytest.raises(InputError, match=r"no hyper-parameter 'epoch'.*epochs"):
        methods.build("finetune", setup(), epoch=3)
    with pytest.raises(InputError, match="Unknown trained method 'lwf'"):
        methods.build("lwf", setup())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decay", "0"),
        ("decay", None),
        ("decay", np.nan),
        ("slow", 1e308),
        ("rate", 1e308),
        ("rate", 0),
    ],
)
def test_a_setting_that_is_no_number_or_beyond_all_use_is_refused(
    setup: Make, name: str, value: Any
) -> None:
    with pytest.raises(InputError, match=f"{name} = {re.escape(repr(value))}"):
        methods.build("finetune", setup(), **{name: value})


def test_mixed_precision_trains_too(setup: Make, test_images: Images) -> None:
    made = replace(setup(), precision="bfloat16")
    sessions = [SESSIONS[0], np.array([0, 2, 3, 5])]
    record = run(made, test_images, sessions, "joint", HARD | {"epochs": 8})
    assert sum(record["correct"][1]) >= 20
