"""What share of the default suite's jobs do its checks take?  Each job once, in this process, with a stopwatch a check.

    python benchmarks/checks.py                      # all methods of the suite on its four data sets: minutes
    python benchmarks/checks.py --methods ncm sparcl --datasets cub-50

Both sides are processor time of one pass: of a job's script from its first file to its record (a run, and the selection
of the method that selects), and of the checks within it.  What the machine does meanwhile falls on both.  A job's
interpreter and its imports, about 0.4 s more, are left out, which makes every share larger than it is.
"""

import argparse
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # as the workflow's jobs; before numpy is there

from sparcl.pipeline import configuration, paths, specs  # noqa: E402

SCRIPTS = Path(__file__).parents[1] / "workflow/scripts"
# Each check, by the name under which it is called; none is called by another.
CHECKS = (
    "sparcl.learners.checks._check_range",
    "sparcl.learners.learner.check_learned",
    "sparcl.learners.learner.check_scores",
    "sparcl.learners.mapped.check_lengths",
    "sparcl.algebra.sums.check_lengths",
    "sparcl.base.sealed.seal",
    "sparcl.features.matching.check_path",
    "sparcl.features.matching.check_pair",
    "sparcl.features.equal.repeated",  # of files whose manifest counts duplicates
)


class Watch:
    """Seconds of processor by check, and how often each was called."""

    def __init__(self) -> None:
        self.seconds, self.calls = dict.fromkeys(CHECKS, 0.0), dict.fromkeys(CHECKS, 0)

    def timed(self, name: str, check: Callable[..., Any]) -> Callable[..., Any]:
        """Return the check with a stopwatch."""

        def stopped(*given: Any, **more: Any) -> Any:
            start = time.process_time()
            try:
                return check(*given, **more)
            finally:
                self.seconds[name] += time.process_time() - start
                self.calls[name] += 1

        return stopped

    @contextmanager
    def on(self) -> Iterator[None]:
        """Time every check in this block."""
        with ExitStack() as patches:
            for name in CHECKS:
                module, _, function = name.rpartition(".")
                place = import_module(module)
                stopped = self.timed(name, getattr(place, function))
                patches.enter_context(mock.patch.object(place, function, stopped))
            yield


class Files(SimpleNamespace):
    """What Snakemake hands to a script: attributes that are asked for by name too, or by their number."""

    def keys(self) -> Any:
        """Return the names."""
        return vars(self).keys()

    def __getitem__(self, key: int | str) -> Any:
        return vars(self)[key] if isinstance(key, str) else list(vars(self).values())[key]


def job(script: str, names: dict[str, str], inputs: dict[str, Any], out: Path, spec: Any) -> float:
    """Return the seconds of processor that a script takes."""
    found = importlib.util.spec_from_file_location(script, SCRIPTS / f"{script}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    given = {"input": Files(**inputs), "wildcards": Files(**names), "output": [out]}
    start = time.process_time()
    module.main(SimpleNamespace(**given, params=SimpleNamespace(spec=spec), log=["log"]))
    return time.process_time() - start


def jobs(config: Any, dataset: str, method: str, results: Path) -> tuple[float, Watch]:
    """Return what the jobs of a method on a data set take, for one order and seed, and how much of it the checks."""
    suite = config["suites"][config["suite"]]
    order, seed = (str(number) for number in suite["pairs"][0])
    names = {"suite": config["suite"], "dataset": dataset, "order": order}
    path = results / f"orders/{config['suite']}/{dataset}/{order}.json"
    if not path.exists():
        manifest = paths.feature_file(config, dataset, suite["backbones"][0], "train", "json")
        job("make_order", names, {"manifest": manifest}, path, specs.order(config, config["suite"]))
    names |= {"backbone": suite["backbones"][0], "method": method, "seed": seed}
    files = {
        split: paths.feature_file(config, dataset, names["backbone"], split)
        for split in ("train", "test")
    }
    manifests = [Path(file).with_suffix(".json") for file in files.values()]
    inputs = files | {"order": path, "manifests": manifests, "selection": []}
    data, place = specs.data(config, config["suite"]), "/".join(str(path.parent).split("/")[-2:])
    place = f"{place}/{names['backbone']}/{method}/{order}-{seed}.json"
    watch, spent = Watch(), 0.0
    with watch.on():
        if "select" in specs.method(config, method):
            inputs["selection"] = results / "selection" / place
            spec = specs.selection(config, method) | data
            spent += job("select_hyper", names, inputs, inputs["selection"], spec)
        spec = specs.method(config, method) | data
        spent += job("run_method", names, inputs, results / "runs" / place, spec)
    return spent, watch


def main() -> None:
    """Print a row a method and data set, the sum, and what each check takes of it."""
    config = configuration.load(Path.cwd())
    suite = config["suites"][config["suite"]]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=suite["datasets"])
    parser.add_argument("--methods", nargs="+", default=suite["methods"])
    chosen = parser.parse_args()
    total, checks = 0.0, dict.fromkeys(CHECKS, 0.0)
    print("| set | method | jobs, s | checks, s | share, % |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        jobs(
            config, chosen.datasets[0], chosen.methods[0], Path(folder)
        )  # imports, and pages of the files
        for dataset in chosen.datasets:
            for method in chosen.methods:
                spent, watch = jobs(config, dataset, method, Path(folder))
                own = sum(watch.seconds.values())
                cells = f"{spent:.2f} | {own:.4f} | {100 * own / spent:.2f}"
                print(f"| {dataset} | {method} | {cells} |", flush=True)
                total += spent
                for name, seconds in watch.seconds.items():
                    checks[name] += seconds
    own = sum(checks.values())
    print(f"| all | all | {total:.2f} | {own:.4f} | {100 * own / total:.2f} |\n")
    for name, seconds in checks.items():
        print(f"{name}: {seconds:.4f} s, {100 * seconds / total:.3f}%")


if __name__ == "__main__":
    main()
