"""What share of the default suite's jobs do its checks take?  Each job once, in this process, with a stopwatch a check.

    python benchmarks/checks.py                      # every job of the default suite that reads or writes a record,
                                                     # for its first class order: minutes; --orders 5 for all of them
    python benchmarks/checks.py --methods ncm sparcl --datasets cub-50

Both sides are processor time of one pass: of a job's script from its first file to its record (orders, selections,
runs, traces, summaries), and of the checks within it.  What the machine does meanwhile falls on both.  A job's
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

from study.pipeline import configuration, paths, plan, specs  # noqa: E402

Names = dict[str, str]
SCRIPTS = Path(__file__).parents[1] / "workflow/scripts"
# Each check, by the name under which it is called; none is called by another.
CHECKS = (
    "sparcl.learners.learner._check_range",
    "sparcl.learners.learner.check_learned",
    "sparcl.learners.learner.check_scores",
    "sparcl.learners.composed.check_lengths",
    "sparcl.algebra.sums.check_lengths",
    "sparcl.base.sealed.seal",
    "sparcl.features.matching.check_path",
    "sparcl.features.matching.check_pair",
    "sparcl.features.checks.check_ids",
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


def job(script: str, names: Names, inputs: dict[str, Any], outputs: Any, spec: Any = None) -> float:
    """Return the seconds of processor that a script takes."""
    found = importlib.util.spec_from_file_location(script, SCRIPTS / f"{script}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    given = {"input": Files(**inputs), "wildcards": Files(**names), "output": outputs}
    start = time.process_time()
    module.main(SimpleNamespace(**given, params=SimpleNamespace(spec=spec), log=["log"]))
    return time.process_time() - start


class Suite:
    """The jobs of the suite that is set, with a folder in place of results/."""

    def __init__(self, config: Any, results: Path) -> None:
        self.config, self.results, self.name = config, results, config["suite"]
        block = config["suites"][self.name]
        self.backbone, self.pairs = block["backbones"][0], block["pairs"]
        self.data = specs.data(config, self.name)
        self.records: list[Path] = []
        self.traces: list[Path] = []

    def inputs(self, dataset: str, order: int) -> dict[str, Any]:
        """Return what a job reads of a data set, and its order."""
        files = {
            split: paths.feature_file(self.config, dataset, self.backbone, split)
            for split in ("train", "test")
        }
        manifests = [Path(file).with_suffix(".json") for file in files.values()]
        path = self.results / f"orders/{self.name}/{dataset}/{order}.json"
        return files | {"manifests": manifests, "manifest": manifests[0], "order": path}

    def prepare(self, dataset: str, order: int) -> float:
        """Make the order, and follow the spectrum."""
        names = {"suite": self.name, "dataset": dataset, "order": str(order)}
        inputs, config = self.inputs(dataset, order), self.config
        spent = job("make_order", names, inputs, [inputs["order"]], specs.order(config, self.name))
        names |= {"backbone": self.backbone}
        trace = self.results / f"spectra/{self.name}/{dataset}/{self.backbone}/{order}.json"
        self.traces.append(trace)
        return spent + job("trace_spectrum", names, inputs, [trace], config["spectrum"] | self.data)

    def run(self, dataset: str, method: str, order: int, seed: int) -> float:
        """Select, where the method selects, and run."""
        names = {"suite": self.name, "dataset": dataset, "backbone": self.backbone}
        names |= {"method": method, "order": str(order), "seed": str(seed)}
        place = f"{self.name}/{dataset}/{self.backbone}/{method}/{order}-{seed}.json"
        inputs, spent = self.inputs(dataset, order) | {"selection": []}, 0.0
        if "select" in specs.method(self.config, method):
            inputs["selection"] = self.results / "selection" / place
            spec = specs.selection(self.config, method) | self.data
            spent += job("select_hyper", names, inputs, [inputs["selection"]], spec)
        record = self.results / "runs" / place
        self.records.append(record)
        spec = specs.method(self.config, method) | self.data
        return spent + job("run_method", names, inputs, [record], spec)

    def summarise(self) -> float:
        """Gather what was run and followed."""
        inputs = {"records": self.records, "traces": self.traces}
        names = [*plan.RECORDS, *plan.TRACES, "metrics"]
        outputs = Files(**{name: self.results / f"summary/{name}.csv" for name in names})
        scripts = ("summarise_runs", "summarise_spectra")
        return sum(job(script, {}, inputs, outputs) for script in scripts)


def measured(
    suite: Suite, datasets: list[str], methods: list[str], orders: int
) -> Iterator[tuple[str, str, float, Watch]]:
    """Yield data set, what was done, and the seconds of the jobs and of the checks within them."""

    def timed(dataset: str, what: str, jobs: Iterator[float]) -> tuple[str, str, float, Watch]:
        watch = Watch()
        with watch.on():
            return dataset, what, sum(jobs), watch

    pairs = suite.pairs[:orders]
    for dataset in datasets:
        prepared = (suite.prepare(dataset, order) for order, _ in pairs)
        yield timed(dataset, "orders, traces", prepared)
        for method in methods:
            yield timed(dataset, method, (suite.run(dataset, method, *pair) for pair in pairs))
    yield timed("all", "summaries", (suite.summarise() for _ in range(1)))


def main() -> None:
    """Print a row a method and data set, the sum, and what each check takes of it."""
    config = configuration.load(Path.cwd())
    block = config["suites"][config["suite"]]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=block["datasets"])
    parser.add_argument("--methods", nargs="+", default=block["methods"])
    parser.add_argument("--orders", type=int, default=1, help="so many of the suite's pairs")
    chosen = parser.parse_args()
    total, checks = 0.0, dict.fromkeys(CHECKS, 0.0)
    print("| set | jobs | jobs, s | checks, s | share, % |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as folder:
        # imports, and pages of the files
        list(measured(Suite(config, Path(before)), chosen.datasets[:1], chosen.methods[:1], 1))
        suite = Suite(config, Path(folder))
        for dataset, what, spent, watch in measured(
            suite, chosen.datasets, chosen.methods, chosen.orders
        ):
            own = sum(watch.seconds.values())
            cells = f"{spent:.2f} | {own:.4f} | {100 * own / spent:.2f}"
            print(f"| {dataset} | {what} | {cells} |", flush=True)
            total += spent
            for name, seconds in watch.seconds.items():
                checks[name] += seconds
    own = sum(checks.values())
    print(f"| all | all | {total:.2f} | {own:.4f} | {100 * own / total:.2f} |\n")
    for name, seconds in checks.items():
        print(f"{name}: {seconds:.4f} s, {100 * seconds / total:.3f}%")


if __name__ == "__main__":
    main()
