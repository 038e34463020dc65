"""What a job costs beside its work: 1,000 jobs that do nothing, and 200 real jobs of the workflow.

    python benchmarks/scheduling.py [--cores 2] [--empty 1000] [--real 200]

The real jobs run the nearest class mean on 12 classes of invented features: each starts Python, imports
numpy, scipy and h5py, reads and verifies two feature files and writes its record; what it computes is nothing.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

EMPTY = """
rule all:
    input: expand("done/{{i}}", i=range({jobs}))

rule nothing:
    output: "done/{{i}}"
    shell: ": > {{output}}"
"""


def timed(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run snakemake in a folder; return the seconds that it took, and those of processors."""
    began, busy = time.perf_counter(), processor_seconds()
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'workflow'}"},
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise RuntimeError(run.stdout + run.stderr)
    return time.perf_counter() - began, processor_seconds() - busy


def processor_seconds() -> float:
    """Return what ended children have used: other work on the machine does not count here."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def empty_jobs(folder: Path, jobs: int, cores: int) -> tuple[float, float]:
    """Return the seconds of that many shell jobs that do nothing, under the project's profile."""
    folder.mkdir()
    (folder / "Snakefile").write_text(EMPTY.format(jobs=jobs), encoding="utf-8")
    shutil.copytree(ROOT / "profiles", folder / "profiles")
    return timed(folder, "--cores", str(cores))


def real_jobs(folder: Path, jobs: int, cores: int) -> tuple[float, float]:
    """Return the seconds of that many `run_method` jobs; features and class orders are there before."""
    from copies import copy_project, edit_params
    from tiny_suite import add_tiny_suite, write_split

    copy_project(folder)
    for split in ("train", "test"):
        write_split(folder, "tiny-a", split)

    def change(params: dict) -> None:
        add_tiny_suite(params)
        pairs = [[1993, seed] for seed in range(jobs)]
        params["suites"]["tiny"] |= {"datasets": ["tiny-a"], "methods": ["ncm"], "pairs": pairs}

    edit_params(folder, change)
    suite = ("--config", "suite=tiny")
    timed(folder, "--cores", "1", "results/orders/tiny/tiny-a/1993.json", *suite)
    timed(folder, "--cores", "1", "features", *suite)
    return timed(folder, "--cores", str(cores), "runs", *suite)


def main() -> None:
    """Measure and print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--empty", type=int, default=1000)
    parser.add_argument("--real", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, measure, jobs in (
            ("empty", empty_jobs, chosen.empty),
            ("real", real_jobs, chosen.real),
        ):
            seconds, busy = measure(Path(folder) / name, jobs, chosen.cores)
            print(
                f"{jobs} {name} jobs, {chosen.cores} cores: {seconds:.1f} s, processors {busy:.1f} s"
            )
            print(f"  each {seconds / jobs:.3f} s, processors {busy / jobs:.3f} s")


if __name__ == "__main__":
    main()
