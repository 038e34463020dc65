"""The look of all figures: fonts, widths, one colour per method, labels at curves, equal bytes.

Colours are those of Okabe and Ito (2008), which people with any common colour blindness can tell
apart. Markers and dashes repeat what colours say, so that a grey print can be read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import cycle, product
from typing import Any, NamedTuple, cast

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

PAGE = 6.875  # inches: both columns of the paper
COLUMN = 3.0  # a journal's column has 3.3 inches and enlarges this, so that the smallest labels have 7 points
LABEL_SIZE = 6.5
LINE = LABEL_SIZE + 0.9  # points from one label at the ends of curves to the next
FAR = 3.0  # quartile distances: a value farther below the others would squeeze their panel
READABLE = 5.0  # contrast of text with white; 4.5 is the least, also on a pale ground
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
    hollow: bool = False


# The registry. Methods of one panel differ by 15 or more in CIELAB, also with protanopia and deuteranopia; variants of
# one method share its colour and differ in dashes and in marker or its filling. Methods that share no panel may share a
# colour. After the first eight: the muted palette of Paul Tol and darker relatives, moved apart where they were closer.
LOOKS = {
    "ncm": Look("#767676", ":", ""),
    "slda": Look("#B34FA2", "-.", "o"),
    "lda": Look("#52367D", "-", "d"),
    "lda-oas": Look("#52367D", ":", "^", hollow=True),
    "lda-lw": Look("#52367D", "-.", "s", hollow=True),
    "lda-wann": Look("#52367D", ":", "s", hollow=True),
    "klda": Look("#858700", "-", "P"),
    "anacp": Look("#E69F00", "-.", "<"),
    "lr-rgda": Look("#56B4E9", "-", "h"),
    "srda": Look("#56B4E9", ":", "H", hollow=True),  # LR-RGDA with all directions
    "fecam": Look("#811D50", "-.", "D"),
    "fenec": Look("#811D50", ":", "d", hollow=True),  # FeCAM with several centroids
    "randumb": Look("#44B3A8", "-", "X"),
    "icarl-nme": Look("#332288", "-", "p"),
    "slca-frozen": Look("#B8860B", ":", "o"),
    "ft-head": Look("#8C510A", ":", "x"),
    "derpp-head": Look("#CC6677", "-.", "s"),
    "acil": Look("#000000", "-", "o"),
    "acil-unit": Look("#000000", "-.", "v", hollow=True),
    "ridge-gaussian": Look("#000000", ":", "D", hollow=True),
    "ridge-lda": Look("#6A51A3", "-.", "p"),
    "layup": Look("#882255", ":", "h"),
    "acil-rhl": Look("#E69F00", ":", "D"),
    "gacl": Look("#6A51A3", ":", "s"),
    "dsal": Look("#057632", "-", "v"),
    "gkeal": Look("#6699CC", "-.", "^"),
    "air": Look("#B22222", ":", "X"),
    "real-ffb": Look("#003572", "-", "<"),
    "foal": Look("#44B3A8", "-", ">"),
    "ranpac": Look("#0072B2", "-", "D"),
    "ranpac-unit": Look("#0072B2", ":", "P", hollow=True),
    "flycl": Look("#56B4E9", "-.", "P"),
    "loranpac": Look("#7A3B00", "-.", "X"),
    "sparcl": Look("#D55E00", "-", "s"),
    "sparcl-alg1": Look("#D380AD", "-.", "v"),
    "sparcl-plus": Look("#2AA26E", "-", "^"),
}
# Other ids, and beginnings of ids, of a method: with a fixed ridge in suites of streams, and `ridge-<rule>`.
ALSO = {
    "ridge": "acil",
    "stream-ridge": "acil",
    "stream-lda": "lda",
    "stream-core": "sparcl",
    "srda-official": "srda",  # beside LR-RGDA's variant
}
# A method without an entry of its own is grey; its label tells it apart.
PLAIN = Look(QUIET, "-.", "")


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


def look(method: str) -> Look:
    """Return the look of a method; a variant (``<method>-<variant>``) is dashed and hollow in the method's colour."""
    whole = name = ALSO.get(method, method)
    while name not in LOOKS and "-" in name:
        name = name.rpartition("-")[0]
        name = ALSO.get(name, name)
    if name not in LOOKS:
        return PLAIN
    return LOOKS[name] if name == whole else LOOKS[name]._replace(linestyle="--", hollow=True)


def line(method: str | Look, points: int = 2) -> dict[str, Any]:
    """Return the keyword arguments of ``Axes.plot`` for a method; a curve of one point has a marker."""
    own = look(method) if isinstance(method, str) else method
    return {
        "color": own.color,
        "linestyle": own.linestyle,
        "marker": own.marker or ("o" if points == 1 else ""),
        "markerfacecolor": "white" if own.hollow else own.color,
        "markeredgecolor": own.color,
        "markeredgewidth": 0.7,
    }


def distinct(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the look of each method of a panel as `line` does; methods that are not registered take free colours."""
    looks = {method: look(method) for method in methods}
    taken = {look.color for look in looks.values()}
    free = cycle({look.color: look for look in LOOKS.values() if look.color not in taken}.values())
    return {m: line(next(free) if own is PLAIN else own) for m, own in looks.items()}


def contrast(color: Any) -> float:
    """Return the contrast of a colour with white, from 1 to 21 (WCAG 2)."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05)


def ink(color: Any) -> Any:
    """Return a colour for text, darkened as little as makes it readable on white."""
    rgb = np.array(to_rgb(color))
    for share in np.linspace(1, 0, 101):
        if contrast(share * rgb) >= READABLE:
            break
    return color if share == 1 else tuple(share * rgb)


def ramp(count: int) -> list[tuple[float, float, float, float]]:
    """Return ``count`` colours from light (first session) to dark (last), monotone in lightness."""
    return [tuple(c) for c in matplotlib.colormaps["viridis"](np.linspace(0.86, 0.0, count))]


@contextmanager
def settings(wide: float = PAGE) -> Iterator[None]:
    """Apply the style to matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # its stubs want literal keys
        matplotlib.rcParams.update(cast(Any, SETTINGS | {"figure.figsize": (wide, wide)}))
        yield


def width() -> float:
    """Return the width of the figure that is drawn, in inches: of a page, or of its block's ``column``."""
    return float(matplotlib.rcParams["figure.figsize"][0])


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Run a ``draw`` function under the style, as wide as its options say."""

    @wraps(draw)
    def wrapper(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
        with settings(COLUMN if options.get("column") else PAGE):
            return draw(frames, options)

    return wrapper


def room(names: Iterable[str]) -> float:
    """Return the space, in inches, that `label_ends` needs for these names right of a panel."""
    font = FontProperties(family=SETTINGS["font.family"], size=LABEL_SIZE)
    widths = [TextPath((0, 0), name, prop=font).get_extents().width for name in names]
    return (REACH + max(widths) + 2) / 72


def curves(
    ax: Axes,
    means: Mapping[str, pd.Series],
    name: Callable[[str, float], str],
    looks: Mapping[str, dict[str, Any]] | None = None,
) -> list[tuple[str, float, float, Any]]:
    """Draw one curve per method and return their ends, as `label_ends` takes them.

    Parameters
    ----------
    means : mapping
        Method -> its values over the axis x, of the index.
    name : callable
        (method, last value) -> what stands at the end of its curve.
    looks : mapping, optional
        As `distinct` returns them; default: what `line` says.
    """
    ends = []
    for method, mean in means.items():
        look = line(method, len(mean)) if looks is None else looks[method]
        ax.plot(mean.index, mean, label=method, clip_on=False, **look)
        x, y = mean.index[-1], mean.iloc[-1]
        ends.append((name(method, y), x, y, look["color"]))
    return ends


def band(ax: Axes, method: str, low: pd.Series, high: pd.Series, alpha: float = 0.12) -> None:
    """Fill what lies between two curves of a method."""
    ax.fill_between(low.index, low, high, color=line(method)["color"], alpha=alpha, lw=0)


def per_dataset(
    titles: Mapping[str, str],
    rows: int,
    height: float,
    margins: tuple[float, float, float, float],
    gaps: tuple[float, float],
    abreast: int = 4,
    question: str = "",
) -> tuple[Figure, dict[str, list[Axes]]]:
    """Lay out ``rows`` panels, one below the other, for each data set, some data sets abreast.

    Sizes are in inches and final, so that labels can be placed before drawing.

    Parameters
    ----------
    titles : mapping
        Data set -> its name, which stands over its panels.
    rows : int
    height : float
        Height of a panel. Its width is what margins and gaps leave of the page.
    margins : (float, float, float, float)
        Left, right, bottom (tick labels and axis name), top (title).
    gaps : (float, float)
        Between columns, and between the panels of one data set.
    abreast : int
        How many data sets stand side by side.
    question : str
        What the figure asks: the title of one as wide as a page.

    Returns
    -------
    Figure, and data set -> list of ``rows`` Axes
    """
    left, right, bottom, top = margins
    page, columns = width(), min(len(titles), abreast)
    lines = -(-len(titles) // columns)
    wide = (page - left - right - (columns - 1) * gaps[0]) / columns
    question = question if page == PAGE else ""
    block = top + rows * height + (rows - 1) * gaps[1] + bottom
    height_of_all = lines * block + (0.2 if question else 0.0)
    figure = Figure(figsize=(page, height_of_all))
    if question:
        x, y = left / page, 1 - 0.11 / height_of_all
        figure.text(x, y, question, fontsize=9, fontweight="bold", va="center")
    stacks: dict[str, list[Axes]] = {}
    for i, (dataset, title) in enumerate(titles.items()):
        line, column = divmod(i, columns)
        x = left + column * (wide + gaps[0])
        tops = [(lines - line) * block - top - row * (height + gaps[1]) for row in range(rows)]
        boxes = [
            (x / page, (y - height) / height_of_all, wide / page, height / height_of_all)
            for y in tops
        ]
        stacks[dataset] = [figure.add_axes(box) for box in boxes]
        stacks[dataset][0].set_title(title, loc="left")
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


def note(on: Axes | Figure, x: float, y: float, text: str, color: Any = INK, **more: Any) -> None:
    """Write a text in the size of labels; ``more`` is for `matplotlib.axes.Axes.text`."""
    on.text(x, y, text, color=color, **{"fontsize": LABEL_SIZE} | more)


def log_ticks(axis: Axis, form: str = "", **locator: Any) -> None:
    """Tick a logarithmic axis as its `matplotlib.ticker.LogLocator` says, without minor ticks."""
    axis.set_major_locator(LogLocator(**locator))
    if form:
        axis.set_major_formatter(form)
    axis.set_minor_locator(NullLocator())


def session_axis(ax: Axes, sessions: pd.Series, ticks: int = 5) -> None:
    """Set limits, ticks and name of an axis of sessions."""
    ax.set_xlim(sessions.min() - 0.4, sessions.max() + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    ax.set_xlabel("session")


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


def near(values: pd.Series) -> pd.Series:
    """Return which values are not far below the others: at most `FAR` quartile distances under the lower quartile."""
    lower, upper = np.percentile(values, [25, 75])
    return values >= lower - FAR * max(upper - lower, 1.0)


def label_points(
    ax: Axes,
    points: Sequence[tuple[str, float, float, Any]],
    avoid: Sequence[tuple[float, float, float, float]] = (),
) -> None:
    """Write the name of each point beside it, where it covers no other name or point.

    Of the places around a point the nearest free one is taken; a thin line joins a name that is
    farther away. Limits and scales of ``ax`` must be final.

    Parameters
    ----------
    points : sequence of (text, x, y, colour)
        In data coordinates.
    avoid : sequence of (x, y, x, y)
        Horizontal and vertical lines that no name may cross, in data coordinates.
    """
    scale = 72 / ax.figure.dpi
    at = [ax.transData.transform((x, y)) * scale for _, x, y, _ in points]
    font = FontProperties(family=SETTINGS["font.family"], size=LABEL_SIZE)
    frame = ax.get_window_extent()
    inside = (frame.x0 * scale, frame.y0 * scale, frame.x1 * scale + 8, frame.y1 * scale)
    taken = [(x - 2.2, y - 2.2, x + 2.2, y + 2.2) for x, y in at]
    for x0, y0, x1, y1 in avoid:
        ends = np.sort(ax.transData.transform([(x0, y0), (x1, y1)]) * scale, axis=0)
        taken.append((*(ends[0] - 1.0), *(ends[1] + 1.0)))
    for (text, x, y, color), (px, py) in zip(points, at, strict=True):
        # Drawn letters with their spaces take up to 5% more than their outlines.
        width = 1.05 * TextPath((0, 0), text, prop=font).get_extents().width + 1.5
        half = 0.55 * LABEL_SIZE
        best = None
        for radius, angle in product((4.0, 9.0, 15.0, 22.0, 30.0, 40.0), range(0, 360, 15)):
            dx, dy = radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle))
            left = px + dx - (width / 2) * (1 - np.cos(np.radians(angle)))
            box = (left, py + dy - half, left + width, py + dy + half)
            outside = sum(
                max(0.0, gap)
                for gap in (
                    inside[0] - box[0],
                    inside[1] - box[1],
                    box[2] - inside[2],
                    box[3] - inside[3],
                )
            )
            covered = sum(
                max(0.0, min(box[2], b[2]) - max(box[0], b[0]))
                * max(0.0, min(box[3], b[3]) - max(box[1], b[1]))
                for b in taken
            )
            cost = (covered + 50 * outside, radius, abs(angle - 180) < 90)
            if best is None or cost < best[0]:
                best = (cost, box, radius)
        if best is None:
            raise AssertionError("there is always a place")
        _, box, radius = best
        taken.append(box)
        arrow = {"arrowstyle": "-", "lw": 0.4, "color": color, "shrinkA": 0, "shrinkB": 2.0}
        ax.annotate(
            text,
            (x, y),
            xytext=((box[0] + box[2]) / 2 - px, (box[1] + box[3]) / 2 - py),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=LABEL_SIZE,
            color=ink(color),
            annotation_clip=False,
            arrowprops=arrow if radius > 4 else None,
        )


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
    placed = spread(at, LINE, box.y0 * points, box.y1 * points)
    for (text, x, y, color), old, new in zip(ends, at, placed, strict=True):
        ax.annotate(
            text,
            (x, y),
            xytext=(reach, new - old),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=LABEL_SIZE,
            color=ink(color),
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
