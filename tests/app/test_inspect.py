"""`inspect`: its numbers are those of the rows, it says what a file lacks, and what it prints is safe to look at."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from commands import Refused, main
from toy_files import META

from sparcl.app import chart, inspecting
from sparcl.base.rows import unit
from sparcl.features import store
from sparcl.methods import build
from sparcl.protocol import diagnostics

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["<script>alert(1)</script>", "b & c", "\x1b[31mred", "dög", "e" * 60, "f"]
SESSIONS = [[3, 1], [0, 2], [5, 4]]
EARLIER = [Path("after-1.npz"), Path("after-2.npz")]
LAST = Path("after-3.npz")


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % len(NAMES)
    features = 2.0 * rng.standard_normal((len(NAMES), 12))[labels] + rng.standard_normal((90, 12))
    return features.astype(np.float32), labels


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Fit a method session after session, each under a name of its own, in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    store.write("train.h5", *rows(), [str(i) for i in range(90)], NAMES, META)

    def fit(*method: str) -> None:
        begun = ["--method", *method]
        for t, session in enumerate(SESSIONS, 1):
            Path("order.json").write_text(json.dumps({"sessions": [session]}))
            command = ["--order-file", "order.json", "--features", "train.h5"]
            assert main(["fit", *begun, *command, "--out", f"after-{t}.npz"]) == 0
            begun = ["--append", f"after-{t}.npz"]

    return fit


def by_session(sessions: list) -> list[tuple[np.ndarray, np.ndarray]]:
    Phi, y = rows()
    return [(unit(Phi)[np.isin(y, classes)], y[np.isin(y, classes)]) for classes in sessions]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["inspect", *arguments]) == 0
    return "".join(capsys.readouterr())


def same_rows(found: list[dict], wanted: list[dict]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for key, value in other.items():
            assert one[key] == pytest.approx(value, rel=1e-7, abs=1e-7), key


def test_saves_of_a_model_have_the_numbers_of_its_rows(saved: Callable[..., None]) -> None:
    saved("sparcl", "--set", "ridge=0.1")
    found = inspecting.inspect(LAST, EARLIER[::-1])
    wanted = diagnostics.trace(by_session(SESSIONS), inspecting.RIDGE, inspecting.TAU, 64)
    same_rows(found.sessions, wanted["sessions"])
    assert found.k == 1 + np.argmax(found.energy >= inspecting.TAU)
    advice = diagnostics.recommend(wanted["sessions"], inspecting.LARGE)
    assert found.advice["advice"] == advice.pop("advice")
    assert {name: found.advice[name] for name in advice} == pytest.approx(advice)


def test_the_protocol_is_that_of_the_settings() -> None:
    settings = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["spectrum"]
    own = {"ridge": inspecting.RIDGE, "tau": inspecting.TAU, "modes": inspecting.MODES}
    assert settings == own | {"recommend": inspecting.LARGE}


def test_the_advice_says_what_was_measured(saved: Callable[..., None]) -> None:
    """Each number is called large where it is, whatever the others are: a drift of 11% is no rest."""
    saved("acil", "--set", "ridge=0.1")
    found = inspecting.inspect(LAST, EARLIER)
    for overlap, drift, cosine in itertools.product((0.2, 0.7), (0.03, 0.11), (0.1, 0.6)):
        row = {"overlap": 1.0, "overlap_share": overlap, "joint_drift_core": drift}
        rows = [{"prototype_cosine": cosine}, row | {"prototype_cosine": cosine}]
        found.advice = diagnostics.recommend(rows, inspecting.LARGE)
        said = dict(chart.conclusion(found))
        assert said["drift"] == f"{drift:.1%} of old logits along the core (large: 5%)"
        assert ("move" in said["advice"]) == (drift > 0.05)
        assert ("leave old logits where they were" in said["advice"]) == (drift < 0.05)
        assert ("hardly take the core" in said["advice"]) == (overlap < 0.5)
        assert ("prototypes are close" in said["advice"]) == (cosine > 0.5)
        advice, _, calls = said["advice"].partition(". It calls for ")
        moved, close = overlap > 0.5 and drift > 0.05, cosine > 0.5
        both = ["neither", "decorrelation", "partition", "both"][2 * moved + close]
        assert advice.startswith(f"{both}: ") and calls == chart.REMEDY[both]


@pytest.mark.parametrize("method", ["ncm", "fecam"])
def test_what_a_model_does_not_hold_is_said(
    saved: Callable[..., None], capsys: pytest.CaptureFixture[str], method: str
) -> None:
    saved(method)
    text = said(capsys, str(LAST))
    assert "keeps no second moments R" in text and "none without R" in text
    assert ("between prototypes" in text) == (method == "ncm")


def test_what_the_library_saved_is_read(
    saved: Callable[..., None], capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    from sparcl.app.classifier import Classifier

    Phi, y = rows()
    learner = build("acil", ridge=0.1)
    learner.fit_session(Phi, y)
    learner.save("learner.npz")
    Classifier("acil", ridge=0.1).fit(Phi, np.array(NAMES)[y]).save("classifier.npz")
    assert "classes     0, 1, 2, 3, 4, 5\n" in said(capsys, "learner.npz")
    text = said(capsys, "classifier.npz")
    assert "samples     90, 15 a class" in text and "12 x 12, rank 12, trace 90" in text
    why = refused("inspect", "learner.npz", "--since", "classifier.npz")
    assert "--since goes with a model of `sparcl fit`" in why


def test_what_does_not_belong_together_is_refused(
    saved: Callable[..., None], capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    saved("acil", "--set", "ridge=0.1")
    for arguments, why in [
        (["after-1.npz", "--since", "after-2.npz"], "is not what a later model was"),
        (["after-2.npz", "--since", "after-1.npz", "./after-1.npz"], "given twice"),
        (["after-2.npz", "--tau", "1.5"], "tau = 1.5"),
        (["after-2.npz", "--ridge", "0"], "ridge = 0"),
        (["train.h5"], "but HDF5, as feature files are. `sparcl fit` makes a model of features"),
    ]:
        assert why in refused("inspect", *arguments)
    before = Path("after-1.npz").read_bytes()
    saved("acil", "--set", "ridge=0.5")
    Path("other.npz").write_bytes(before)
    assert "ridge is 0.1, but 0.5" in refused("inspect", "after-2.npz", "--since", "other.npz")


def test_text_keeps_to_the_terminal(saved: Callable[..., None]) -> None:
    saved("sparcl", "--set", "ridge=0.1")
    found = inspecting.inspect(LAST, EARLIER)
    for width in (40, 59, 80, 160):
        text = "\n".join(chart.lines(found, width))
        # a table of seven columns does not break
        assert [line for line in text.splitlines() if len(line) > max(width, 61)] == []
        assert "\x1b" not in text and "\\x1b[31mred" in text
        bars = re.findall(r"^ +\d+ .* ([\d.]+)%  ([#.]+)$", text, re.MULTILINE)
        assert len(bars) > 5
        sizes = [len(bar) for _, bar in bars]
        assert sizes == sorted(sizes) and sizes[-1] > 1.5 * sizes[0]


def test_no_file_of_the_users_folder_is_imported(saved: Callable[..., None]) -> None:
    """What a person calls figures.py, workflow.py or tests.py is theirs; a terminal may have plain letters alone."""
    saved("acil", "--set", "ridge=0.1")
    for name in ("figures", "workflow", "tests", "snakemake_logger_plugin_oneline", "pandas"):
        Path(f"{name}.py").write_text("raise SystemExit('imported')\n")
    environment = {"PYTHONPATH": f"{Path()}:{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C.UTF-8", "HOME": "/proc/none"}
    done = subprocess.run(
        [sys.executable, "-m", "sparcl", "inspect", str(LAST)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii() and "d\\xf6g" in done.stdout and "####" in done.stdout
