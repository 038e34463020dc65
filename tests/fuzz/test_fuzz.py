"""A thousand damaged inputs in `make test`, twenty times as many in `make test-all`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MUTATE = Path(__file__).with_name("mutate.py")
ROOT = MUTATE.parents[2]
EACH = 44  # of 23 targets

Outcomes = dict[str, tuple[int, str]]


def outcomes(*command: str) -> Outcomes:
    """Run a search in a process of its own; return each target's exit status and what it wrote."""
    paths = [os.environ["PYTHONPATH"], str(ROOT / "tests"), str(MUTATE.parent)]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("count", [EACH, pytest.param(20 * EACH, marks=pytest.mark.slow)])
def test_damaged_inputs_are_refused_in_the_projects_own_words(count: int, tmp_path: Path) -> None:
    found = outcomes(str(MUTATE), str(count), str(tmp_path))
    assert count * len(found) >= 1000
    for target, (code, said) in found.items():
        assert code == 0, f"{target}: {said[-3000:]}"
        counts = json.loads(said.splitlines()[-1])
        assert counts["inputs"] >= count, target
        assert counts["refused"] > counts["inputs"] / 2, target


# What a reader might do wrong, each as a target of its own, and what the search says of it.
WRONG = {
    "crash": ("raise KeyError('x')", "KeyError"),
    "hang": ("while True: pass", "no answer within 1 s of processor time"),
    "memory": ("np.ones(2**30)", "MemoryError"),
    "outside": ("open('/etc/hostname')", "open /etc/hostname"),
    "command": ("os.system('true')", "os.system"),
    "terminal": ("command(lambda _: print('\\x1b[2J'))", "writes ['\\x1b']"),
    "exit of a C library": ("os.kill(os.getpid(), signal.SIGSEGV)", "Segmentation fault"),
}


def test_the_search_notices(tmp_path: Path) -> None:
    readers = {name: code for name, (code, _) in WRONG.items()}
    # on a busy machine an answer may take long
    readers["late"] = "late or late.append(time.sleep(1.5))"
    program = f"""
import mutate
import time
from mutate import *
late = []
mutate.SECONDS, mutate.MODULES = 1, ()
original = b"whole"
def write(folder):
    (folder / "a").write_bytes(original)
    return ["a"]
def reader(code):
    def read(folder):
        if (folder / "a").read_bytes() != original:
            exec(code)
    return read
TARGETS.clear()
TARGETS.update({{name: Target(write, reader(code)) for name, code in {readers!r}.items()}})
main(20, Path({str(tmp_path)!r}))
"""
    found = outcomes("-c", program)
    assert found.pop("late")[0] == 0
    assert found.keys() == WRONG.keys()
    for name, (code, said) in found.items():
        assert code != 0 and WRONG[name][1] in said, f"{name}: {said}"
