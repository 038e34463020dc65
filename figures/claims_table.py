"""The claims ledger as LaTeX, Markdown and CSV: a row or sentence per claim, by topic, with its verdict and values."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from figures.grid import Origin
from figures.markup import escape, escape_numbers, markdown
from study.report.claims import (
    ALL,
    FAILS,
    HOLDS,
    UNDECIDED,
    UNMEASURABLE,
    Judged,
    Measured,
)

# Mark and word of a verdict, and what is said of several claims.
VERDICTS = {
    HOLDS: ("✓", "holds", "hold"),
    FAILS: ("✗", "fails", "do not"),
    UNDECIDED: ("?", "undecided", "are undecided"),
    UNMEASURABLE: ("–", "not measured", "cannot be measured here"),
}
# Names in sentences, as LaTeX has them -> symbols.
SYMBOLS = {
    r"A\_bar": r"$\bar A$",
    r"A\_t": "$A_t$",
    r"kappa\_t": r"$\kappa_t$",
    "kappa": r"$\kappa$",
    "tau": r"$\tau$",
    **{name: f"${name}$" for name in "MTkm"},
}
SYMBOL = re.compile(r"(?<![\w\\$])(?:" + "|".join(map(re.escape, SYMBOLS)) + r")(?![\w\\$])")
EXPLAINED = (
    "A claim holds if its predicate is true of the mean over class orders on every data set. A difference of two "
    "methods in accuracy or forgetting, in brackets with its 95% interval over class orders and test samples together, "
    "must be told apart from the threshold as well (docs/claims.md); where it is not, the claim is undecided. "
    "Deviations (±) are over class orders. "
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
    for position, item in enumerate(judged, start=1):
        claim = item.claim
        keys: dict[str, Any] = {"number": f"C{position}"}
        keys |= {key: claim[key] for key in ("id", "topic", "place", "says", "measured")}
        keys |= {"judge": predicate(claim["judge"]), "verdict": item.verdict, "reason": item.reason}
        suites = "/".join(dict.fromkeys(term["suite"] for term in claim["terms"]))
        for value in item.values or [Measured("", np.nan, np.nan, 0, False)]:
            cell: dict[str, Any] = dict(keys)
            cell |= {"suite": suites, "dataset": labels.get(value.dataset, value.dataset)}
            cell |= {"mean": value.mean, "std": value.std, "low": value.low, "high": value.high}
            cell |= {"n": value.n, "satisfied": int(value.satisfied), "told": int(value.told)}
            cells.append(cell | (_origins(claim["terms"], value.dataset) if value.n else {}))
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
    counts = Counter(cells.drop_duplicates("number")["verdict"])
    told = ", ".join(f"{counts[verdict]} {said}" for verdict, (*_, said) in VERDICTS.items())
    return f"Of {counts.total()} claims {told}"


def number(value: float, form: str = ".3g") -> str:
    """Return a number with the significant digits of a format and no needless exponent."""
    if np.isnan(value):
        return "undefined"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        text = f"{value:{form}}".rstrip(".")
        return f"{value:.0f}" if abs(value) >= 100 or "e" in text else text
    return f"{value:.1e}"


def heads(cells: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each topic with how many of its claims hold, and its cells."""
    for topic, group in cells.groupby("topic", sort=False):
        verdicts = group.drop_duplicates("number")["verdict"]
        yield f"{topic}: {(verdicts == HOLDS).sum()} of {len(verdicts)} hold", group


def sentences(cells: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    """Yield number, verdict, statement and measurement of each claim."""
    for _, group in cells.groupby("number", sort=False):
        first = group.iloc[0]
        says = f"{first['says'].rstrip('.')} ({first['place']})."
        yield first["number"], first["verdict"], says, _measurement(group)


def _measurement(group: pd.DataFrame) -> str:
    first = group.iloc[0]
    if not first["n"]:
        return f"Not measured: {first['reason']}."
    values = ", ".join(
        " ".join([*([] if row["dataset"] == ALL else [row["dataset"]]), *_value(row)])
        for _, row in group.iterrows()
    )
    return (
        f"Measured: {first['measured']} (suite {first['suite']}), to be {first['judge']}: {values}."
    )


def _value(row: pd.Series, form: str = ".3g") -> list[str]:
    """Return the texts of a mean and of its interval or deviation, if it has one."""
    mean, std, low, high = (number(row[key], form) for key in ("mean", "std", "low", "high"))
    if not np.isnan(row["low"]):
        return [mean, f"[{low}, {high}]"]
    return [mean] if np.isnan(row["std"]) else [mean, f"± {std}"]


def _markdown(cells: pd.DataFrame) -> str:
    lines = [f"**{tally(cells)}.** {EXPLAINED}"]
    for head, topic in heads(cells):
        lines += ["", f"## {markdown(head)}", ""]
        lines += [
            f"- {VERDICTS[verdict][0]} **{name} {verdict}.** {markdown(says)} {markdown(measured)}"
            for name, verdict, says, measured in sentences(topic)
        ]
    return "\n".join(lines) + "\n"


def _latex(cells: pd.DataFrame) -> str:
    """Return a table over pages, a row per claim, and for each topic a line with the number that hold."""
    sets = [name for name in cells["dataset"].unique() if name not in (ALL, "")]
    width = len(sets) + 3
    head = ["", "claim", "measured, and its predicate", *sets]
    lines = [
        "% needs longtable, array and booktabs, in one column",
        rf"\textbf{{{escape(tally(cells))}.}} {escape(EXPLAINED)}",
        r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.15}",
        r"\newcolumntype{L}[1]{>{\raggedright\arraybackslash}p{#1}}",
        rf"\begin{{longtable}}{{@{{}}L{{0.075\textwidth}}L{{0.24\textwidth}}L{{0.235\textwidth}}*{{{len(sets)}}}{{r}}@{{}}}}",
        r"\toprule",
        " & ".join(map(escape, head)) + r" \\",
        r"\midrule\endhead",
        r"\bottomrule\endfoot",
    ]
    for topic, group in heads(cells):
        lines.append(
            rf"\multicolumn{{{width}}}{{@{{}}l}}{{\textbf{{{escape(topic)}}}}}\rule{{0pt}}{{3ex}} \\*"
        )
        for name, claim in group.groupby("number", sort=False):
            first = claim.iloc[0]
            told = f"{first['measured']} (suite {first['suite']}): {first['judge']}"
            row = [
                f"{name} {VERDICTS[first['verdict']][1]}",
                f"{first['says'].rstrip('.')} ({first['place']})",
            ]
            row = [symbols(text) for text in (*row, told if first["n"] else first["reason"])]
            values = {
                dataset: _stacked(value)
                for dataset, (_, value) in zip(claim["dataset"], claim.iterrows(), strict=True)
            }
            if ALL in values:
                row.append(rf"\multicolumn{{{len(sets)}}}{{r}}{{{values[ALL]}}}")
            else:
                row += [values.get(dataset, "") if first["n"] else "" for dataset in sets]
            lines.append(" & ".join(row) + r" \\")
    return "\n".join([*lines, r"\end{longtable}\endgroup"]) + "\n"


def _stacked(row: pd.Series) -> str:
    """Return a value with two significant digits, its interval or deviation below it."""
    parts = map(escape_numbers, _value(row, "#.2g"))
    return r"\begin{tabular}[t]{@{}r@{}}" + r" \\ {}".join(parts) + r"\end{tabular}"


def symbols(plain: str) -> str:
    """Return plain text as LaTeX text in which names of quantities are their symbols."""
    return SYMBOL.sub(lambda match: SYMBOLS[match[0]], escape_numbers(plain))
