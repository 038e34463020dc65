"""The look of all figures: fonts, widths, one colour per method, labels at curves, equal bytes.

Colours are those of Okabe and Ito (2008), which people with any common colour blindness can tell
apart. Markers and dashes repeat what colours say, so that a grey print can be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, cast

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator

from sparcl.base.errors import ConfigError
from sparcl.base.files import replacing

COLUMN, PAGE = 3.25, 6.875  # inches: one column and both columns of the paper
LABEL_SIZE = 6.5
REACH = 7.5  # points from the end of a curve to its name
ALONE = "one session:\nno class is old"  # where nothing can move or be forgotten
INK, QUIET = "#222222", "#767676"

SETTINGS: dict[str, Any] = {
    "font.family": "STIXGeneral",  # ships with matplotlib; a Times, like the paper's text
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
    "lines.linewidth": 1.2,
    "lines.markersize": 2.6,
    "pdf.fonttype": 42,  # TrueType: text stays text in the paper's PDF
    "savefig.dpi": 300,
    "figure.dpi": 100,
}


class Look(NamedTuple):
    """How one method is drawn, everywhere."""

    color: str
    linestyle: str
    marker: str


# Beyond the first eight colours: the muted palette of Paul Tol and darker relatives.
LOOKS = {
    "ncm": Look("#767676", ":", ""),
    "slda": Look("#AA4499", "-.", "o"),
    "klda": Look("#8A8A00", "--", "P"),
    "fecam": Look("#882255", "-.", "D"),
    "randumb": Look("#44AA99", "-", "X"),
    "icarl-nme": Look("#332288", "-", "p"),
    "slca-frozen": Look("#B8860B", "--", "o"),
    "ft-head": Look("#8C510A", ":", "x"),
    "derpp-head": Look("#CC6677", "-.", "s"),
    "acil": Look("#000000", "-", "o"),
    "acil-rhl": Look("#E69F00", "--", "D"),
    "gacl": Look("#6A51A3", ":", "s"),
    "dsal": Look("#117733", "-", "v"),
    "gkeal": Look("#6699CC", "-.", "^"),
    "air": Look("#B22222", "--", "X"),
    "real-ffb": Look("#004488", "-", "<"),
    "foal": Look("#997700", "-", ">"),
    "foal-last": Look("#997700", ":", ">"),
    "ranpac": Look("#0072B2", "-", "D"),
    "flycl": Look("#56B4E9", "-", "P"),
    "loranpac": Look("#56B4E9", "-.", "X"),
    "sparcl": Look("#D55E00", "-", "s"),
    "sparcl-alg1": Look("#CC79A7", "-.", "v"),
    "sparcl-plus": Look("#009E73", "-", "^"),
}
# A method without an entry of its own is grey; its label tells it apart.
PLAIN = Look(QUIET, "-.", "")
# Endings of ids that name other settings of a method: drawn in its colour, dashed, with hollow markers.
SETTINGS_OF = ("-paper", "-newest", "-official", "-wide")


def literal(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a figure is told, with dollars of labels and titles as letters: no label is a formula."""

    def plain(text: str) -> str:
        return text.replace("$", r"\$")

    told = dict(options)
    for kind in ("methods", "datasets", "backbones"):
        told[kind] = {
            name: {key: plain(text) for key, text in block.items()}
            for name, block in options.get(kind, {}).items()
        }
    if "groups" in options:
        told["groups"] = {plain(title): ids for title, ids in options["groups"].items()}
    return told


def family(method: str) -> str:
    """Return the method that an id names a setting of."""
    return next((method.removesuffix(end) for end in SETTINGS_OF if method.endswith(end)), method)


def line(method: str, points: int = 2) -> dict[str, Any]:
    """Return the keyword arguments of ``Axes.plot`` for a method; a curve of one point has a marker."""
    fixed = family(method) != method
    look = LOOKS.get(family(method), PLAIN)
    return {
        "color": look.color,
        "linestyle": "--" if fixed else look.linestyle,
        "marker": look.marker or ("o" if points == 1 else ""),
        "markerfacecolor": "white" if fixed else look.color,
        "markeredgecolor": look.color,
        "markeredgewidth": 0.7,
    }


def ramp(count: int) -> list[tuple[float, float, float, float]]:
    """Return ``count`` colours from light (first session) to dark (last), monotone in lightness."""
    return [tuple(c) for c in matplotlib.colormaps["viridis"](np.linspace(0.86, 0.0, count))]


@contextmanager
def settings() -> Iterator[None]:
    """Apply the style to matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(cast(Any, SETTINGS))  # its stubs want literal keys
        yield


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Run a ``draw`` function under the style."""

    @wraps(draw)
    def wrapper(*args: Any, **kwargs: Any) -> Figure:
        with settings():
            return draw(*args, **kwargs)

    return wrapper


def save(figure: Figure, *paths: str | Path) -> None:
    """Write a figure as ``.pdf`` and ``.png``; equal figures give equal bytes.

    Raises
    ------
    ConfigError
        A path has another suffix.
    """
    for path in map(Path, paths):
        if path.suffix not in (".pdf", ".png"):
            raise ConfigError(f"cannot draw {path}: figures are written as .pdf and .png")
        # Without dates and version numbers, files that show the same thing are equal.
        nothing = (
            {"Creator": None, "Producer": None, "CreationDate": None}
            if path.suffix == ".pdf"
            else {"Software": None}
        )
        with settings(), replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], metadata=nothing)


def room(names: Sequence[str]) -> float:
    """Return the space, in inches, that `label_ends` needs for these names right of a panel."""
    font = FontProperties(family=SETTINGS["font.family"], size=LABEL_SIZE)
    widths = [TextPath((0, 0), name, prop=font).get_extents().width for name in names]
    return (REACH + max(widths) + 2) / 72


def per_dataset(
    count: int,
    rows: int,
    height: float,
    margins: tuple[float, float, float, float],
    gaps: tuple[float, float],
) -> tuple[Figure, list[list[Axes]]]:
    """Lay out ``rows`` panels, one below the other, for each of ``count`` data sets, four abreast.

    Sizes are in inches and final, so that labels can be placed before drawing.

    Parameters
    ----------
    count, rows : int
    height : float
        Height of a panel. Its width is what margins and gaps leave of the page.
    margins : (float, float, float, float)
        Left, right, bottom (tick labels and axis name), top (title).
    gaps : (float, float)
        Between columns, and between the panels of one data set.

    Returns
    -------
    Figure, list of ``count`` lists of ``rows`` Axes
    """
    left, right, bottom, top = margins
    columns = min(count, 4)
    lines = -(-count // columns)
    width = (PAGE - left - right - (columns - 1) * gaps[0]) / columns
    block = top + rows * height + (rows - 1) * gaps[1] + bottom
    figure = Figure(figsize=(PAGE, lines * block))
    stacks = []
    for line, column in (divmod(i, columns) for i in range(count)):
        x = left + column * (width + gaps[0])
        tops = [(lines - line) * block - top - row * (height + gaps[1]) for row in range(rows)]
        boxes = [
            (x / PAGE, (y - height) / (lines * block), width / PAGE, height / (lines * block))
            for y in tops
        ]
        stacks.append([figure.add_axes(box) for box in boxes])
    return figure, stacks


def is_first_column(ax: Axes) -> bool:
    """Return whether a panel is at the left edge, where the axis of its row is named."""
    return all(ax.get_position().x0 <= other.get_position().x0 + 1e-9 for other in ax.figure.axes)


def undefined(ax: Axes, why: str) -> None:
    """Say in a panel why it has nothing to show."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=QUIET)


def session_axis(ax: Axes, sessions: pd.Series, ticks: int = 5) -> None:
    """Set limits, ticks and name of an axis of sessions."""
    ax.set_xlim(sessions.min() - 0.4, sessions.max() + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    ax.set_xlabel("session")


def point(ax: Axes, method: str, x: float, y: float) -> None:
    """Draw a method as one point."""
    look = line(method) | {"linestyle": "", "markersize": 4}
    look["marker"] = look["marker"] or "o"
    ax.plot([x], [y], label=method, clip_on=False, **look)


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """Move positions as little as possible (least squares) so that neighbours are ``gap`` apart, in order.

    With ``z_i = y_i - i gap`` the constraints say that z does not decrease: isotonic regression by
    pooling adjacent violators, then clipping to the bounds, which keeps the optimum.

    Parameters
    ----------
    positions : sequence of float, length n
        In any order; ties keep their order.
    gap, low, high : float
        If n labels do not fit between the bounds, those at the top exceed ``high``.

    Returns
    -------
    ndarray, shape (n,)
        In the order of ``positions``.
    """
    values = np.asarray(positions, dtype=float)
    order = np.argsort(values, kind="stable")
    offsets = gap * np.arange(len(values))
    pools: list[list[float]] = []  # [mean, size]
    for z in values[order] - offsets:
        pools.append([z, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, size = pools.pop()
            previous, before = pools.pop()
            pools.append([(previous * before + mean * size) / (before + size), before + size])
    z = np.repeat([mean for mean, _ in pools], [int(size) for _, size in pools])
    ceiling = max(low, high - gap * (len(values) - 1))
    result = np.empty(len(values))
    result[order] = np.clip(z, low, ceiling) + offsets
    return result


def label_at_edge(ax: Axes, points: Sequence[tuple[str, float, float, Any]]) -> None:
    """Name points at the right edge, each joined to its name by a thin line.

    Parameters
    ----------
    points : sequence of (text, x, y, colour)
        As for `label_ends`.
    """
    right = ax.get_xlim()[1]
    label_ends(ax, [(text, right, y, color) for text, _, y, color in points])
    for _, x, y, color in points:
        ax.plot([x, right], [y, y], color=color, lw=0.4, alpha=0.35, zorder=0)
    ax.set_xlim(right=right)


def label_ends(
    ax: Axes, ends: Sequence[tuple[str, float, float, Any]], reach: float = REACH
) -> None:
    """Write each curve's name to the right of its end, moved apart where names would overlap.

    Limits and scales of ``ax`` must be final. A thin line joins a moved name to its curve.

    Parameters
    ----------
    ends : sequence of (text, x, y, colour)
        Last point of each curve, in data coordinates.
    reach : float
        Distance of the text from the end, in points.
    """
    if not ends:
        return
    points = 72 / ax.figure.dpi
    at = [ax.transData.transform((x, y))[1] * points for _, x, y, _ in ends]
    box = ax.get_window_extent()
    placed = spread(at, LABEL_SIZE + 0.9, box.y0 * points, box.y1 * points)
    for (text, x, y, color), old, new in zip(ends, at, placed, strict=True):
        ax.annotate(
            text,
            (x, y),
            xytext=(reach, new - old),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=LABEL_SIZE,
            color=color,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "lw": 0.4,
                "color": color,
                "alpha": 0.6,
                "shrinkA": 0,
                "shrinkB": 2.5,
                "relpos": (0, 0.5),
            },
        )
