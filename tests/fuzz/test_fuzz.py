"""A thousand damaged inputs in `make test`, twenty times as many in `make test-all`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MUTATE = Path(__file__).with_name("mutate.py")
ROOT = MUTATE.parents[2]
TARGETS = (
    "features",
    "manifest",
    "view",
    "sums",
    "params",
    "cub",
    "grocery",
    "tar",
    "wheel",
    "weights",
    "records",
    "summaries",
    "orders",
    "model",
    "forged model",
    "forged sums",
    "checkpoint",
    "pickle",
    "formats",
    "download",
    "published",
    "arrays",
    "given",
    "logs",
)
EACH = 56
COUNTS = [
    pytest.param(EACH, id="1000"),
    pytest.param(20 * EACH, id="20000", marks=pytest.mark.slow),
]


def mutate(target: str, count: int, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(MUTATE), target, str(count), str(folder)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT / "tests")]),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=1200,
    )


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("target", TARGETS)
def test_damaged_inputs_are_refused_in_the_projects_own_words(
    target: str, count: int, tmp_path: Path
) -> None:
    run = mutate(target, count, tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["inputs"] >= count
    assert found["refused"] > found["inputs"] / 2


def test_there_are_a_thousand() -> None:
    sys.path.insert(0, str(MUTATE.parent))
    try:
        import mutate as module
    finally:
        sys.path.pop(0)
    assert module.TARGETS.keys() == set(TARGETS)
    assert EACH * len(TARGETS) >= 1000
    assert 20 * EACH * len(TARGETS) >= 20_000
    assert all(module.TARGETS[name].read for name in TARGETS)


# What a reader might do wrong, each as a target of its own: the search must notice.
WRONG = {
    "crash": "raise KeyError('x')",
    "hang": "while True: pass",
    "memory": "np.ones(2**30)",
    "outside": "open('/etc/hostname')",
    "command": "os.system('true')",
    "terminal": "command(lambda _: print('\\x1b[2J'))",
    "exit of a C library": "os.kill(os.getpid(), signal.SIGSEGV)",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_search_notices(wrong: str, tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(MUTATE.parent)!r})
import mutate
from mutate import *
mutate.SECONDS = 1
original = b"whole"
def write(folder):
    (folder / "a").write_bytes(original)
    return ["a"]
def read(folder):
    if (folder / "a").read_bytes() != original:
        {WRONG[wrong]}
mutate.TARGETS["wrong"] = Target(write, read)
mutate.main("wrong", 20, Path({str(tmp_path)!r}))
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode != 0
    assert '"inputs"' not in run.stdout
