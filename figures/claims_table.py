"""The claims ledger as LaTeX, Markdown and CSV: place, statement, value with spread, verdict."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from figures.grid import Origin
from figures.markup import escape, escape_numbers, markdown
from sparcl.report.claims import FAILS, HOLDS, UNMEASURABLE, Judged, Measured

MARKS = {HOLDS: "✓", FAILS: "✗", UNMEASURABLE: "–"}
RAGGED, END = r">{\raggedright\arraybackslash}", r" \\ \addlinespace[2pt]"
ANALOGUES = (
    "The paper's data sets and backbone are not in this repository: every value is measured on the "
    "bundled data sets, its analogues, with EfficientNet-Lite0 features, and says nothing about the "
    "paper's own tables."
)


def rows(judged: Sequence[Judged], labels: Mapping[str, str]) -> pd.DataFrame:
    """Return one row per claim and data set; a claim without values has one row too.

    ``file``, ``row`` and ``column`` say where a value comes from, with its terms separated by
    `` | ``.

    Parameters
    ----------
    judged : sequence of Judged
        The ledger with its verdicts.
    labels : mapping
        Data set id -> name; an id without a name stays as it is.
    """
    cells = []
    for item in judged:
        claim = item.claim
        keys = {key: claim[key] for key in ("id", "place", "says", "measured")}
        keys |= {"judge": predicate(claim["judge"]), "verdict": item.verdict, "reason": item.reason}
        suites = "/".join(dict.fromkeys(term["suite"] for term in claim["terms"]))
        for value in item.values or [Measured("", np.nan, np.nan, 0, False)]:
            cells.append(
                keys
                | {"suite": suites, "dataset": labels.get(value.dataset, value.dataset)}
                | {"mean": value.mean, "std": value.std, "n": value.n}
                | {"satisfied": int(value.satisfied)}
                | (_origins(claim["terms"], value.dataset) if value.n else {})
            )
    return pd.DataFrame(cells)


def _origins(terms: Sequence[Mapping], dataset: str) -> dict[str, str]:
    """Return file, rows and column of each term of a value, and what is done with the column."""
    parts = []
    for term in terms:
        timed = term["suite"] == "timings"
        folder = "timings" if timed else f"paper/{term['suite']}/summary"
        methods = term.get("methods", [term["method"]] if "method" in term else [])
        keys = [f"dataset={term.get('dataset', dataset)}"]
        keys += [f"method={'/'.join(methods)}"] if methods else []
        keys += [f"{key}={low}..{high}" for key, (low, high) in term.get("where", {}).items()]
        column = term["column"]
        column += "".join(
            f" {key} {term[key]}" for key in ("times", "minus", "with") if key in term
        )
        column += f" ({term.get('reduce', 'mean')})"
        parts.append((f"{folder}/{term['frame']}.csv", "; ".join(keys), column))
    return {
        name: " | ".join(part)
        for name, part in zip(Origin._fields, zip(*parts, strict=True), strict=True)
    }


def texts(cells: pd.DataFrame) -> dict[str, str]:
    """Return the files of the ledger by suffix."""
    return {
        ".tex": _latex(cells),
        ".md": _markdown(cells),
        ".csv": cells.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
    }


def predicate(rule: Mapping) -> str:
    """Return a predicate in words."""
    if rule["is"] == "between":
        return "between {:g} and {:g}".format(*rule["than"])
    return f"{rule['is']} {rule['than']:g}"


def tally(cells: pd.DataFrame) -> str:
    """Return the number of claims for each verdict, in words."""
    counts = Counter(cells.drop_duplicates("id")["verdict"])
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in MARKS)


def number(value: float) -> str:
    """Return a number with three significant digits and no needless exponent."""
    if np.isnan(value):
        return "undefined"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return f"{value:.1e}"


def _value(row: pd.Series) -> str:
    spread = "" if np.isnan(row["std"]) else f" ± {number(row['std'])}"
    return number(row["mean"]) + spread


def _values(group: pd.DataFrame, line: str) -> str:
    if not group["n"].iloc[0]:
        return group["reason"].iloc[0]
    named = (group["dataset"] != "all").all()
    return line.join((f"{r['dataset']} " if named else "") + _value(r) for _, r in group.iterrows())


def _markdown(cells: pd.DataFrame) -> str:
    lines = [
        f"{tally(cells)}. {ANALOGUES}",
        "",
        "Values are means ± standard deviations over class orders. A claim holds if its predicate "
        "is true of the mean on every data set.",
        "",
        "| | place | the paper says | measured | predicate | value |",
        "|---|---|---|---|---|---|",
    ]
    for _, group in cells.groupby("id", sort=False):
        first = group.iloc[0]
        mark = f"{MARKS[first['verdict']]} {first['verdict']}"
        parts = [mark, first["place"], first["says"], f"{first['measured']} ({first['suite']})"]
        values = [markdown(value) for value in _values(group, "\n").split("\n")]
        written = [*map(markdown, [*parts, first["judge"]]), "<br>".join(values)]
        lines.append("| " + " | ".join(written) + " |")
    return "\n".join(lines) + "\n"


def _latex(cells: pd.DataFrame) -> str:
    widths = ("0.10", "0.20", "0.22", "0.08", "0.25", "0.07")
    columns = "".join(rf"{RAGGED}p{{{width}\textwidth}}" for width in widths)
    heads = ("place", "the paper says", "measured", "predicate", "value", "verdict")
    head = " & ".join(heads) + r" \\"
    lines = [
        "% needs array, booktabs and longtable, in one column",
        r"{\scriptsize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{Claims of the paper: {escape(tally(cells))}. {escape(ANALOGUES)}}}"
        r"\label{tab:claims}\\",
        r"\toprule",
        head,
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        head,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    for _, group in cells.groupby("id", sort=False):
        first = group.iloc[0]
        values = [escape_numbers(v) for v in _values(group, "\n").split("\n")]
        verdict = escape(first["verdict"])
        if first["verdict"] == FAILS:
            verdict = rf"\emph{{{verdict}}}"
        parts = [escape_numbers(first[key]) for key in ("place", "says", "measured", "judge")]
        lines.append(" & ".join([*parts, r"\newline ".join(values), verdict]) + END)
    lines += [r"\end{longtable}}"]
    return "\n".join(lines) + "\n"
