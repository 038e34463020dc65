"""All nine trained methods and both references in miniature: from images to summaries, tables and figure."""

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import script_calls
import torch
from copies import ROOT
from PIL import Image
from script_calls import Given
from trained.test_every_method import FAST
from trained.toys import CLASSES, SESSIONS, SIDE, convolutional, images, transformer

from figures import render
from sparcl.base.errors import DatasetError, InputError
from sparcl.protocol import stream
from study.images.extract import extract_split
from study.pipeline import displays, specs
from study.sealed import RUN, read_sealed, write_sealed
from study.trained.learner import Trained

IDS = {"joint-finetune": "joint"}  # where a method's id is not its learner's
NAMES = {"suite": "trained", "dataset": "toy-images", "backbone": "toy-net"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of images, a checkpoint and a class order."""
    folder = tmp_path_factory.mktemp("miniature")
    for split, made in (("train", images(8, 1)), ("test", images(4, 2))):
        for n, (pixels, label) in enumerate(zip(made.pixels, made.labels, strict=True)):
            path = folder / f"images/{split}/{label}/{n:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    torch.save(transformer().state_dict(), folder / "net.pth")
    sessions = [classes.tolist() for classes in SESSIONS]
    order = NAMES | {"order": 1993, "sessions": sessions, "sha256": stream.order_hash(sessions)}
    write_sealed(folder / "trained/toy-images/1993.json", order)
    return folder


@pytest.fixture
def settings(params: dict[str, Any], places: Path) -> dict[str, Any]:
    """Return the settings of a suite of all trained methods on these images."""
    weights = (places / "net.pth").read_bytes()
    params["datasets"]["toy-images"] = {
        "label": "Toy", "short": "Toy", "reader": "folders", "root": str(places), "folder": "images",
        "archive": "", "crop": 1.0, "classes": CLASSES, "shards": 1, "features": "images",
    }  # fmt: skip
    params["backbones"]["toy-net"] = {
        "label": "Toy net",
        "short": "Toy net",
        "timm_id": "vit_tiny_patch16_224",
        "timm_args": {
            "img_size": SIDE, "patch_size": 4, "embed_dim": 16, "depth": 2, "num_heads": 2,
        },
        "weights": {
            "source": "file", "path": str(places / "net.pth"), "sha256": hashlib.sha256(weights).hexdigest(),
        },
        "size": SIDE, "interpolation": "bilinear", "mean": [0.5] * 3, "std": [0.5] * 3,
    }  # fmt: skip
    trained = [m for m, block in params["methods"].items() if block.get("trained")]
    assert sorted(IDS.get(m, m) for m in trained) == sorted(FAST)
    params["suites"]["trained"] |= {
        "datasets": ["toy-images"],
        "backbones": ["toy-net"],
        "methods": ["ncm", *trained],
        "sessions": 3,
        "training": {
            "device": "cpu",
            "augmentation": "random-crop",
            "methods": {m: FAST[IDS.get(m, m)] for m in trained},
        },
    }
    params["extraction"] |= {"cache": str(places), "device": "cpu", "batch_size": 16, "threads": 1}
    return params


def call(script: str, inputs: Given, output: Any, method: str = "", **more: Any) -> None:
    """Call a script's main as its rule would."""
    names = NAMES | {"method": method, "order": "1993", "seed": "0"}
    script_calls.call(script, inputs, output, names, **more)


def train(settings: dict[str, Any], places: Path, method: str) -> Path:
    output = places / f"trained/toy-images/toy-net/{method}/1993-0.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    spec = specs.training(settings, "trained", "toy-images", "toy-net", method)
    inputs = Given(order=places / "trained/toy-images/1993.json", split=[])
    call("train_method", inputs, [str(output)], method, config=settings, spec=spec)
    return output


def test_from_images_to_table_and_figure(
    settings: dict[str, Any], places: Path, tmp_path: Path
) -> None:
    methods = settings["suites"]["trained"]["methods"]
    records = [train(settings, places, method) for method in methods if method != "ncm"]
    for path in records:
        record = read_sealed(path, RUN)
        assert len(record["seconds"]) == len(record["reports"]) == 3
        assert not path.with_suffix(".npz").exists()
    # the closed forms read features of the same images by the same network
    for split in ("train", "test"):
        spec = specs.extraction(settings, "toy-images", "toy-net")
        block = settings["datasets"]["toy-images"] | spec["dataset"]
        extraction = settings["extraction"] | spec["extraction"]
        extract_split(
            places / f"toy-images/toy-net/{split}.h5",
            "toy-images", block, "toy-net", spec["backbone"], split, extraction,
        )  # fmt: skip
    folder = places / "toy-images/toy-net"
    closed = places / "results/runs/trained/toy-images/toy-net/ncm"
    inputs = Given(
        train=folder / "train.h5",
        test=folder / "test.h5",
        manifests=[folder / "train.json", folder / "test.json"],
        orders=[places / "trained/toy-images/1993.json"],
        selection=[],
    )
    spec = specs.method(settings, "ncm") | specs.data(settings, "trained")
    orders = [{"order": "1993", "seed": "0"}]
    call("run_method", inputs, [closed], "ncm", spec=spec, orders=orders)

    names = ("runs", "sessions", "arrivals", "diagnostics", "training", "differences")
    csv = {name: tmp_path / f"{name}.csv" for name in names}
    outputs = Given(**csv, metrics=tmp_path / "metrics.json")
    both = Given(records=[*records, closed], traces=[])
    call("summarise_runs", both, outputs)
    call("summarise_training", Given(records=records), outputs)
    compared = Given(records=[*records, closed], manifests=[folder / "test.json"])
    call("compare_methods", compared, [csv["differences"]], spec={"steps": False})
    pairs = pd.read_csv(csv["differences"]).query(
        "measure == 'A_last'"
    )  # both kinds: the same samples
    assert len(pairs) == math.comb(len(methods), 2) and "ncm" in set(pairs["method"])
    told = pd.read_csv(csv["training"])
    assert len(told) == 3 * len(records)
    assert (told["underfitted"] == (told["training_accuracy"] < 95)).all()
    last = told[told["session"] == 3].set_index("method")
    assert last["exemplars"]["icarl"] == 18 and last["exemplars"]["finetune"] == 0
    assert last["exemplars"]["joint-finetune"] == 8 * CLASSES
    assert (told["seconds"] > 0).all() and (told["trainable_parameters"] > 0).all()
    for kind, name, suffixes in (
        ("table", "trained", ("tex", "md", "csv")),
        ("table", "training", ("tex", "md", "csv")),
        ("figure", "trained", ("pdf", "png")),
    ):
        options = displays.display(settings, f"{kind}s", name, "trained")
        frames = [str(csv[frame]) for frame in options["frames"]]
        files = [str(tmp_path / f"{kind}-{name}.{suffix}") for suffix in suffixes]
        render(kind, name, frames, options, files)
        if kind == "table":
            text = Path(files[1]).read_text(encoding="utf-8")
            for method in methods[name == "training" :]:  # ncm trains nothing
                assert settings["methods"][method]["label"] in text
    # the paper's first table: those of its rows that are quoted elsewhere are measured here
    options = displays.display(settings, "tables", "published", "trained")
    frames = [str(csv["runs"]), str(ROOT / "data/published.csv")]
    files = [str(tmp_path / f"published.{suffix}") for suffix in ("tex", "md", "csv")]
    render("table", "published", frames, options, files)
    cells = pd.read_csv(files[2])
    measured = cells[cells["file"] == str(csv["runs"])]
    assert {*measured["label"]} == {"L2P", "DualPrompt", "EASE"} == {*cells["label"]}
    assert (pd.to_numeric(measured["printed"]) > 0).all()


def test_a_killed_job_goes_on_from_its_checkpoint(
    settings: dict[str, Any], places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_sealed(train(settings, places, "linear-probe"), RUN)
    fit = Trained.fit_session
    seen: list[int] = []

    def killed(learner: Trained, rows: np.ndarray) -> None:
        if learner.number == 2:
            raise KeyboardInterrupt
        fit(learner, rows)

    def counted(learner: Trained, rows: np.ndarray) -> None:
        seen.append(learner.number + 1)
        fit(learner, rows)

    monkeypatch.setattr(Trained, "fit_session", killed)
    output = places / "trained/toy-images/toy-net/linear-probe/1993-0.json"
    output.unlink()
    with pytest.raises(KeyboardInterrupt):
        train(settings, places, "linear-probe")
    assert output.with_suffix(".npz").is_file() and not output.exists()
    monkeypatch.setattr(Trained, "fit_session", counted)
    again = read_sealed(train(settings, places, "linear-probe"), RUN)
    assert seen == [3]
    assert again["correct"] == whole["correct"]


def test_faults_name_method_and_remedy(settings: dict[str, Any], places: Path) -> None:
    budget = settings["suites"]["trained"]["training"]["methods"]
    budget["icarl"] = FAST["icarl"] | {"memory": 3}
    with pytest.raises(InputError, match=r"icarl.*session 2.*memory"):
        train(settings, places, "icarl")
    path = places / "conv.pth"
    torch.save(convolutional().state_dict(), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    settings["backbones"]["toy-net"] |= {
        "timm_id": "test_resnet",
        "timm_args": {},
        "weights": {"source": "file", "path": str(path), "sha256": digest},
    }
    with pytest.raises(InputError, match=r"l2p: ResNet has no class token.*finetune"):
        train(settings, places, "l2p")
    settings["datasets"]["toy-images"]["root"] = str(places / "nowhere")
    with pytest.raises(DatasetError, match="toy-images"):
        train(settings, places, "finetune")
