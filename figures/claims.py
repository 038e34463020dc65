"""The claims ledger as strips: what each predicate allows, what is measured, and the verdict."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from figures import claims_table, style
from figures.frames import Frames, Options
from sparcl.base.errors import InputError
from study.places import where
from study.report.claims import ALL, FAILS, HOLDS, UNDECIDED, UNMEASURABLE

# Colour, marker's face and word of each verdict; face and word tell them apart without colour.
VERDICTS = {
    HOLDS: ("#009E73", "#009E73", "holds"),
    FAILS: ("#D55E00", "white", "fails"),
    UNDECIDED: ("#0072B2", "white", "undecided"),
    UNMEASURABLE: (style.QUIET, "white", "–"),
}
ALLOWED = "#E9E9E9"
# Inches: the height of a strip, the space above the first and below the last; positions in a column.
STRIP, TOP, BOTTOM = 0.2, 0.64, 0.06
COLUMN, NAME, LEFT, RIGHT, RULE, WORD = 3.4, 0.06, 1.58, 2.28, 2.62, 3.37
NUMBER = 0.24  # from the number of a claim to its name
END = 0.02  # from a strip to the number at its end
PAD = 0.06  # share of a strip left free at either end


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw one strip per claim, by topic, in two columns in the order of the ledger.

    Parameters
    ----------
    frames : mapping
        ``claims``: one row per claim and data set (`figures.claims_table.rows`).
    options : mapping
        ``names``: id of a claim -> its name in the figure.

    Returns
    -------
    Figure
        Each strip has a scale of its own, whose least and greatest drawn value stand at its ends.
        The range that the predicate allows is grey; a marker is the mean of a data set, and its bar
        its 95% interval, or one standard deviation over class orders to each side where it is no
        difference of answers, in the colour of its own verdict.

    Raises
    ------
    InputError
        A claim has no name.
    """
    cells = frames["claims"]
    names = options["names"]
    if nameless := sorted({*cells["id"]} - {*names}):
        raise InputError(f"{where('figures', 'claims', 'names')} lacks {', '.join(nameless)}")
    lines: list[str | pd.DataFrame] = []
    for head, topic in claims_table.heads(cells):
        lines.append(head)
        lines.extend(group for _, group in topic.groupby("number", sort=False))
    starts = [i for i, line in enumerate(lines) if isinstance(line, str)]
    split = min((*starts[1:], len(lines)), key=lambda start: max(start, len(lines) - start))
    columns = [column for column in (lines[:split], lines[split:]) if column]
    height = TOP + max(map(len, columns)) * STRIP + BOTTOM
    figure = Figure(figsize=(style.PAGE, height))
    ax = style.field(figure, 0, 0, style.PAGE, height)
    ax.text(NAME, -0.13, claims_table.tally(cells), va="center", fontweight="bold")
    sets = [name for name in cells["dataset"].dropna().unique() if name not in ("", ALL)]
    said = f"In a strip from above: {', '.join(sets)}, as far as measured"
    style.note(ax, NAME, -0.3, said, style.QUIET, va="center")
    for i, column in enumerate(columns):
        x = i * (style.PAGE - COLUMN)
        for at, text, side in (
            (NAME, "claim", "left"),
            ((LEFT + RIGHT) / 2, "measured", "center"),
            (RULE, "predicate", "left"),
            (WORD, "verdict", "right"),
        ):
            ax.text(x + at, -0.5, text, ha=side, va="center", fontsize=7, color=style.QUIET)
        for j, line in enumerate(column):
            y = -TOP - (j + 0.5) * STRIP
            if isinstance(line, str):
                ax.text(x + NAME, y, line, va="center_baseline", fontsize=7, fontweight="bold")
            else:
                _strip(ax, x, y, line, names)
    return figure


def bounds(judge: str) -> tuple[float, float, str]:
    """Return the smallest and the largest value that a predicate allows, and its short form."""
    name, *words = judge.replace(" and ", " ").split()
    limits = [float(word) for word in words]
    form = {"above": "> {}", "below": "< {}", "between": "{} … {}"}[name]
    low = -np.inf if name == "below" else limits[0]
    high = np.inf if name == "above" else limits[-1]
    return low, high, form.format(*(_short(limit, 6) for limit in limits))


def _strip(ax: Axes, x: float, y: float, group: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Draw one claim at the height y of the column that starts at x."""
    first = group.iloc[0]
    color, _, word = VERDICTS[first["verdict"]]
    low, high, rule = bounds(first["judge"])
    text: dict[str, Any] = {"va": "center_baseline", "fontsize": style.LABEL_SIZE - 0.5}
    ax.text(x + NAME, y, first["number"], color=style.QUIET, **text)
    ax.text(x + NAME + NUMBER, y, names[first["id"]], **text)
    ax.text(x + RULE, y, rule, color=style.QUIET, **text)
    ax.text(x + WORD, y, word, ha="right", color=style.ink(color), **text)
    values = group[np.isfinite(group["mean"].astype(float))]
    if values.empty:
        why = "not measurable here" if first["verdict"] == UNMEASURABLE else "undefined"
        middle = x + (LEFT + RIGHT) / 2
        ax.text(middle, y, why, ha="center", color=style.QUIET, **text)
        return
    spread = values["std"].fillna(0.0)
    ends = [
        values[name].fillna(values["mean"] + sign * spread)
        for name, sign in (("low", -1), ("high", 1))
    ]
    limits = [limit for limit in (low, high) if np.isfinite(limit)]
    shown = [*limits, *ends[0], *ends[1]]
    start, end = min(shown), max(shown)
    width = (end - start) or 1.0

    def at(value: float) -> float:
        share = PAD + (1 - 2 * PAD) * (value - start) / width
        return x + LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)

    for edge, value, side in ((LEFT - END, start, "right"), (RIGHT + END, end, "left")):
        ax.text(x + edge, y, _short(value), ha=side, color=style.QUIET, **text)
    left, right = at(low), at(high)
    half = 0.42 * STRIP
    allowed = Rectangle((left, y - half), right - left, 2 * half, fc=ALLOWED, lw=0)
    ax.add_patch(allowed).set_label(first["id"])
    for limit in limits:
        ax.plot([at(limit)] * 2, [y - half, y + half], color=style.QUIET, lw=0.6)
    offsets = np.linspace(1, -1, len(values)) * (0.3 * STRIP if len(values) > 1 else 0)
    for offset, (_, row), *bar in zip(offsets, values.iterrows(), *ends, strict=True):
        place = y + offset
        verdict = (HOLDS if row["satisfied"] else FAILS) if row["told"] else UNDECIDED
        own, face, _ = VERDICTS[verdict]
        ax.plot([at(end) for end in bar], [place] * 2, color=own, lw=0.7)
        look: dict[str, Any] = {"color": own, "markersize": 2.1, "markeredgewidth": 0.6}
        name = f"{first['id']} {row['dataset']}"
        ax.plot([at(row["mean"])], [place], marker="o", mfc=face, label=name, **look)


def _short(value: float, digits: int = 2) -> str:
    """Return a number in the least room that tells its size, small ones with a power of ten."""
    text = f"{value:.{digits}g}" if abs(value) < 100 else f"{value:.0f}"
    mantissa, e, power = text.partition("e")
    factor = "" if mantissa == "1" else f"{mantissa} × "
    return (factor if e else mantissa).replace("-", "−") + (f"$10^{{{int(power)}}}$" if e else "")
