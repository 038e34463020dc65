"""Pages with results, written from templates in docs/templates: ``python -m study.pipeline.pages``.

A template is Markdown in which Jinja fills in what lies in paper/, timings/, docs/search and config/ by the functions
of :class:`Numbers`; ``csv("matched/runs")`` is a pandas table.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparcl.base.errors import InputError, SparclError
from sparcl.base.files import write_text
from study.pipeline import configuration, displays
from study.report.differences import ALL, Difference, Differences
from study.report.reading import read_csv

if TYPE_CHECKING:
    import pandas as pd

TEMPLATES = "docs/templates"
FUNCTIONS = ("csv", "yaml", "caption", "mean", "rows", "difference", "verdicts")
VERDICTS = {"above": "above", "tie": "not told apart", "below": "below"}
SETS = ("cifar-100-150", "cub-50", "grocery-81", "sketchy-125")


class Numbers:
    """Functions of the templates; ``root`` is the project's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.csv = cache(self._csv)
        self.yaml = cache(lambda path: configuration.read_yaml(root / path))
        self.caption = cache(self._caption)
        self.differences = cache(lambda suite: Differences(self.csv(f"{suite}/differences")))

    def _csv(self, path: str) -> "pd.DataFrame":
        """Return a CSV file; ``matched/runs`` is paper/matched/summary/runs.csv."""
        suite, _, name = path.partition("/")
        return read_csv(
            self.root / (path if path.endswith(".csv") else f"paper/{suite}/summary/{name}.csv")
        )

    def _caption(self, suite: str, figure: str) -> str:
        """Return the caption of a figure, without the brackets that end one in Markdown."""
        text = displays.caption(configuration.load(self.root), figure, suite)
        return text.replace("[", "(").replace("]", ")")

    def mean(
        self, method: str, column: str = "A_last", sets: Sequence[str] = SETS, **where: Any
    ) -> list[float]:
        """Return the mean of a column on each set; ``matched/acil`` is a method of a suite.

        Raises
        ------
        InputError
            There is no such row, or an empty cell among them.
        """
        suite, _, name = method.partition("/")
        frame = self.csv(f"{suite}/{'rates' if 'rate' in where else 'runs'}")
        for key, value in {"method": name, **where}.items():
            frame = frame[frame[key] == value]
        found = [frame[frame["dataset"] == dataset][column].mean(skipna=False) for dataset in sets]
        if any(value != value for value in found):
            raise InputError(f"{method}: no {column} on one of {', '.join(sets)} for {where}.")
        return [float(value) for value in found]

    def rows(
        self,
        methods: Mapping[str, str],
        column: str = "A_last",
        sets: Sequence[str] = SETS,
        times: float = 1,
        bold: bool = False,
        **where: Any,
    ) -> str:
        """Return the rows of a Markdown table: of each method its name and a mean for each set.

        Parameters
        ----------
        methods : ``suite/method`` to the row's name
        bold : the highest of a column as printed
        """
        values = [self.mean(method, column, sets, **where) for method in methods]
        printed = [[number(times * value) for value in row] for row in values]
        if bold:
            for j, column_ in enumerate(zip(*values, strict=True)):
                top = number(times * max(column_))
                for row in printed:
                    row[j] = f"**{row[j]}**" if row[j] == top else row[j]
        names = methods.values()
        return "\n".join(
            f"| {' | '.join([name, *row])} |" for name, row in zip(names, printed, strict=True)
        )

    def difference(
        self, method: str, against: str, dataset: str = ALL, measure: str = "A_last", **at: Any
    ) -> Difference:
        """Return ``suite/method`` less another method of the suite, on a data set or as the mean over all."""
        suite, _, name = method.partition("/")
        return self.differences(suite).between(name, against, dataset, measure, **at)

    def verdicts(self, method: str, against: str, measure: str = "A_last") -> str:
        """Return on how many data sets a method is above another, not told apart from it, and below."""
        found = [self.difference(method, against, dataset, measure).verdict for dataset in SETS]
        counted = {name: found.count(key) for key, name in VERDICTS.items()}
        return ", ".join(f"{name} on {count}" for name, count in counted.items() if count)


def number(value: float, digits: int = 1, sign: bool = False) -> str:
    """Return a number as pages print it: fixed digits, thousands apart, a minus that is one.

    Raises
    ------
    InputError
        The number is missing or infinite.
    """
    if not isfinite(value):
        raise InputError(f"{value} is no number to print: a cell is empty, or its row is missing.")
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-+")
    return text.replace("-", "−")


def listed(values: Sequence[float], digits: int = 1, sign: bool = False) -> str:
    """Return numbers as a sentence lists them."""
    *before, last = [number(value, digits, sign) for value in values]
    return f"{', '.join(before)} and {last}" if before else last


def told(difference: Difference) -> str:
    """Return a difference with its 95% interval."""
    low, high = number(difference.low), number(difference.high)
    return f"{number(difference.difference, sign=True)} [{low}, {high}]"


def pages(root: Path) -> dict[str, str]:
    """Return every page that has a template, rendered, by its path from the project's folder.

    Raises
    ------
    InputError
        A template cannot be read, or names what is not there.
    """
    names = sorted(file.name for file in (root / TEMPLATES).glob("*.md"))
    texts = rendered(root, names)
    return {name if name == "README.md" else f"docs/{name}": texts[name] for name in names}


def rendered(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return templates as text, by name; errors as :func:`pages`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

    environment = Environment(  # Markdown of this project, no HTML of others
        loader=FileSystemLoader(root / TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": number, "listed": listed, "told": told}
    numbers = Numbers(root)
    known = {name: getattr(numbers, name) for name in FUNCTIONS}
    texts = {}
    for name in names:
        try:
            texts[name] = environment.get_template(name).render(**known, SETS=SETS)
        except (TemplateError, SparclError, LookupError, NameError, OSError) as error:
            raise InputError(f"{TEMPLATES}/{name}: {type(error).__name__}: {error}") from error
    return texts


if __name__ == "__main__":
    for path, text in pages(Path()).items():
        there = Path(path)
        if not there.is_file() or there.read_text(encoding="utf-8") != text:
            write_text(path, text)
            print(path)
