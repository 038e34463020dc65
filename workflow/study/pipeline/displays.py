"""Inputs of figures and tables, and the settings that they are given."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sparcl.base.errors import ConfigError
from study.order_rules import LOOKING
from study.pipeline.plan import TRACES, readers, session_count
from study.pipeline.provenance import here
from study.pipeline.specs import candidates
from study.places import where
from study.report.numerals import one_order

Settings = Mapping[str, Any]

PARTS = ("Main comparison", "Peers", "Streams", "Ablations", "Trained networks")
"""The parts of report.html and of the site's pages of figures and tables, in their order."""
# Where the frames lie that are no suite's summaries.
FOLDERS = {"data": "data", "timings": "timings", "claims": "paper/claims"}


def traced(config: Settings, suite: Mapping[str, Any]) -> list[str]:
    """Return the tables and figures of a suite's block that read what traces make, as ``figures.<id>``."""
    return [
        f"{kind}.{name}"
        for kind in ("tables", "figures")
        for name in suite[kind]
        if set(config[kind].get(name, {}).get("frames", ())) & set(TRACES)
    ]


def frame_file(frame: str, suite: str) -> str:
    """Return the file of ``<frame>``, a summary of the suite; ``<suite>/<frame>``, of another; or a folder's."""
    folder, _, name = frame.rpartition("/")
    place = f"{FOLDERS.get(folder, f'paper/{folder or suite}/summary')}/{name}.csv"
    return here(place) if folder == "data" else place  # quoted numbers come with the project


def frames(config: Settings, kind: str, name: str, suite: str) -> list[str]:
    """Return the files that a figure or table (``kind``: figures or tables) reads."""
    return [frame_file(frame, suite) for frame in config[kind][name]["frames"]]


def entries(show: Iterable[str]) -> list[str]:
    """Return every method of a list whose entries may be ``a | b``."""
    return [method for entry in show for method in entry.split(" | ")]


def drawable(block: Settings, methods: Iterable[str]) -> bool:
    """Tell whether a figure or table (its block) shows all methods or any of some."""
    return not block.get("show") or not set(entries(block["show"])).isdisjoint(methods)


def listed(block: Settings) -> list[str]:
    """Return every method that a figure or table names; each of ``a | b``."""
    lists = [
        entries(block.get("show", [])),
        entries([block["against"]]) if "against" in block else [],
        *(block.get(key, []) for key in ("curve", "underline", "expanding", "gate")),
        list(block.get("quoted_as", [])),
        [block["of"]] if "of" in block else [],
        *(note["of"] for note in block.get("notes", [])),
        *block.get("groups", {}).values(),
    ]
    return [method for names in lists for method in names]


def caption(config: Settings, name: str, suite: str) -> str:
    """Return the caption of a figure: one text for the PDF, the report in HTML and the README.

    A finding stands first, in the suites that show it.

    Raises
    ------
    ConfigError
        It has a field that is not known.
    """
    block, protocol = config["figures"][name], config["suites"][suite]
    backbone = block.get("backbone", protocol["backbones"][0])
    known = {
        "suite": suite,
        "backbone": config["backbones"][backbone]["label"],
        "sessions": session_count(protocol),
        "orders": len({order for order, _ in protocol["pairs"]}),
    }
    try:
        text = one_order(str(block.get("caption", "")).format(**known))
    except (KeyError, IndexError, ValueError) as error:
        raise ConfigError(
            f"{where('figures', name, 'caption')} has the field {error}; there are {', '.join(known)}"
        ) from error
    finding = block.get("finding", {"suites": ()})
    return f"{finding['says']} {text}" if suite in finding["suites"] else text


def on_pages(config: Settings, suite: str) -> list[str]:
    """Return the figures of a suite but those for a journal's column, which no page shows."""
    return [f for f in config["suites"][suite]["figures"] if not config["figures"][f].get("column")]


def drawings(config: Settings, suite: str, root: Path) -> dict[str, Path]:
    """Return the files of a suite's figures that pages show: SVG, or the PNG of one that was drawn before SVG was."""
    files = {f: root / f"paper/{suite}/figures/{f}.svg" for f in on_pages(config, suite)}
    files = {f: file if file.is_file() else file.with_suffix(".png") for f, file in files.items()}
    return {f: file for f, file in files.items() if file.is_file()}


def findings(config: Settings) -> Iterator[tuple[str, str, list[str]]]:
    """Yield what was found: the sentence, the figure that shows it, and the suites that draw it."""
    for name, block in config["figures"].items():
        if "finding" in block:
            suites = [s for s in block["finding"]["suites"] if name in on_pages(config, s)]
            if suites:
                yield block["finding"]["says"], name, suites


def part(suite: Settings) -> str:
    """Return which of ``PARTS`` a suite (its block) stands in, by what it shows and how its streams differ."""
    shown = {*suite["tables"], *suite["figures"]}
    if "trained" in shown:
        return "Trained networks"
    stressed = suite["stress"] != "none" or suite["order_rule"] in LOOKING
    if suite["streams"] or "shots" in suite or stressed or "streams" in shown:
        return "Streams"
    if "peers" in shown:
        return "Peers"
    return "Ablations" if "group" in suite else "Main comparison"


def display(config: Settings, kind: str, name: str, suite: str) -> dict[str, Any]:
    """Return what a figure or table is told: its own block, the suite, and the labels of what it shows."""
    block, protocol = config[kind][name], config["suites"][suite]
    labels = {
        what: {
            key: {style: config[what][key][style] for style in ("label", "short")}
            for key in block.get(what, protocol[what])
        }
        for what in ("methods", "datasets", "backbones")
    }
    # Where a summary has several backbones, the block names the one that is shown.
    run = readers(config, suite, block.get("backbone", protocol["backbones"][0]))
    if kind == "figures":
        block = {**block, "caption": caption(config, name, suite)}
    return {
        **block,
        **labels,
        "id": name,
        "suite": suite,
        "sessions": session_count(protocol),
        "orders": len({order for order, _ in protocol["pairs"]}),
        "names": {method: config["methods"][method]["short"] for method in listed(block)},
        **({"compare": protocol["compare"]} if block.get("module", name) == "increments" else {}),
        **(_choices(config, protocol) if block.get("module", name) == "selected" else {}),
        "absent": [method for method in protocol["methods"] if method not in run],
    }


def _choices(config: Settings, protocol: Settings) -> dict[str, Any]:
    """Return what the methods of a suite select, and the candidates of each setting."""
    selected = {
        method: config["methods"][method]["select"]
        for method in protocol["methods"]
        if "select" in config["methods"][method]
    }
    return {"selected": selected, "candidates": candidates(config)}
