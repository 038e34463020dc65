"""Which records, traces, summaries, tables and figures a suite has."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from study.pipeline.paths import manifest

Settings = Mapping[str, Any]

# What a run leaves, and the frames of paper/<suite>/summary made from it.
RECORDS = ("runs", "sessions", "arrivals", "diagnostics")
TRACES = ("spectrum", "recommendations")
# What the records of methods that train the network say of the training.
TRAINING = ("training",)
# What the records of streams that go wrong are made into.
RATED = ("rates", "ages")
# Of class orders that are made by adjacent similarity.
ORDERED = ("orders",)
# Of pairs of methods; methods that train the network read other files of test samples than the closed forms.
COMPARED = "differences"


def readers(config: Settings, suite: str, backbone: str) -> list[str]:
    """Return the methods of a suite that run on a backbone: some read class tokens of its blocks."""
    blocks = config["backbones"][backbone].get("blocks")
    return [
        method
        for method in config["suites"][suite]["methods"]
        if blocks or config["methods"][method].get("features", "last") == "last"
    ]


def of_group(config: Settings, group: str) -> list[str]:
    """Return the suites whose ``group`` is this one."""
    return [name for name, block in config["suites"].items() if block.get("group") == group]


def trained(config: Settings) -> list[str]:
    """Return the methods that train the network, on images."""
    return [name for name, block in config["methods"].items() if block.get("trained")]


def trained_suites(config: Settings) -> list[str]:
    """Return the suites with such a method."""
    methods = trained(config)
    return [
        name
        for name, block in config["suites"].items()
        if not set(methods).isdisjoint(block["methods"])
    ]


def trained_records(config: Settings, suite: str) -> list[str]:
    """Return the run records of a suite's methods that train the network."""
    return [path for path in job_outputs(config, suite) if path.endswith(".json")]


def session_count(suite: Settings) -> int:
    """Return the number of sessions of a suite, given its block, which may state their sizes."""
    sessions = suite["sessions"]
    return sessions if isinstance(sessions, int) else len(sessions)


def feature_manifests(
    config: Settings, suite: str, splits: Sequence[str] = ("train", "test")
) -> list[str]:
    """Return the manifests of a suite's features; none where all its methods read images."""
    block = config["suites"][suite]
    if set(block["methods"]) <= set(trained(config)):
        return []
    places = product(block["datasets"], block["backbones"], splits)
    return [manifest(config, *names) for names in places]


def stressed_suites(config: Settings) -> list[str]:
    """Return the suites whose streams go wrong."""
    return [name for name, block in config["suites"].items() if block["streams"]]


def ordered_suites(config: Settings) -> list[str]:
    """Return the suites whose class orders are made by adjacent similarity."""
    suites = config["suites"].items()
    return [name for name, block in suites if block["order_rule"].startswith("adjacent")]


def records(config: Settings, suite: str) -> list[str]:
    """Return one record for each data set, backbone, method and pair, of streams that go wrong in another folder."""
    block = config["suites"][suite]
    folder = "streams" if block["streams"] else "runs"
    return [
        f"results/{folder}/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json"
        for dataset in block["datasets"]
        for backbone in block["backbones"]
        for method in readers(config, suite, backbone)
        for order, seed in block["pairs"]
    ]


def job_outputs(config: Settings, suite: str) -> list[str]:
    """Return what jobs make of a suite: a folder of records for each method and data set, a file where it trains."""
    methods, paths = set(trained(config)), records(config, suite)
    made = (path if path.split("/")[5] in methods else path.rpartition("/")[0] for path in paths)
    return list(dict.fromkeys(made))


def streams(config: Settings, suite: str) -> list[dict[str, str]]:
    """Return class order and seed of each run of a method of a suite, as text."""
    pairs = config["suites"][suite]["pairs"]
    return [{"order": str(order), "seed": str(seed)} for order, seed in pairs]


def traced(config: Settings, suite: str) -> list[dict[str, str]]:
    """Return the first class orders of a suite, as many as it traces."""
    orders = list(dict.fromkeys(stream["order"] for stream in streams(config, suite)))
    return [{"order": order} for order in orders[: config["suites"][suite]["traces"]]]


def order_files(config: Settings, suite: str, dataset: str) -> list[str]:
    """Return the class orders of a data set in a suite."""
    orders = dict.fromkeys(stream["order"] for stream in streams(config, suite))
    return [f"results/orders/{suite}/{dataset}/{order}.json" for order in orders]


def spectrum_traces(config: Settings, suite: str) -> list[str]:
    """Return a folder of traces for each data set and backbone of a suite that has some."""
    block = config["suites"][suite]
    return [
        f"results/spectra/{suite}/{dataset}/{backbone}"
        for dataset in block["datasets"]
        for backbone in block["backbones"]
        if block["traces"]
    ]


def summary_files(config: Settings, suite: str) -> list[str]:
    """Return the frames of a suite and its metrics."""
    block = config["suites"][suite]
    if block["streams"]:
        return [f"paper/{suite}/summary/{name}.csv" for name in (*RATED, COMPARED)]
    names = [*RECORDS, *(TRACES if block["traces"] else ())]
    names += ORDERED if suite in ordered_suites(config) else ()
    names += (COMPARED, *(TRAINING if suite in trained_suites(config) else ()))
    return [
        f"paper/{suite}/summary/{name}" for name in [*(f"{n}.csv" for n in names), "metrics.json"]
    ]


def table_files(config: Settings, suite: str) -> list[str]:
    """Return the tables of a suite, for LaTeX, to read, and as numbers."""
    tables = config["suites"][suite]["tables"]
    return [f"paper/{suite}/tables/{t}.{kind}" for t in tables for kind in ("tex", "md", "csv")]


def figure_files(config: Settings, suite: str) -> list[str]:
    """Return the figures of a suite."""
    figures = config["suites"][suite]["figures"]
    return [f"paper/{suite}/figures/{f}.{kind}" for f in figures for kind in ("pdf", "png", "svg")]


def paper_files(config: Settings, *suites: str) -> list[str]:
    """Return all that paper/ holds of some suites."""
    kinds = (summary_files, table_files, figure_files)
    return [path for suite in suites for files in kinds for path in files(config, suite)]


def group_files(config: Settings, *groups: str) -> list[str]:
    """Return all that paper/ holds of the suites of some groups."""
    return [path for group in groups for path in paper_files(config, *of_group(config, group))]


def timing_files(config: Settings) -> list[str]:
    """Return what `make timings` measures."""
    return [f"timings/{name}.csv" for name in (*config["timings"], "memory")]


def existing(config: Settings, paths: Iterable[str]) -> list[str]:
    """Return those of some summaries and timings that a suite or a timing makes."""
    made = {path for suite in config["suites"] for path in summary_files(config, suite)}
    made |= set(timing_files(config))
    return [path for path in paths if path in made]
