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

from figures.frames import Frames, Options

PAGE = 6.875  # inches: both columns of the paper
COLUMN = 3.0  # a journal's column has 3.3 inches and enlarges this, so that the smallest labels have 7 points
LABEL_SIZE = 6.5
LINE = LABEL_SIZE + 0.9  # points from one label at the ends of curves to the next
FAR = 3.0  # quartile distances: a value farther below the others would squeeze their panel
READABLE = 5.0  # contrast of text with white; 4.5 is the least, also on a pale ground
REACH = 7.5  # points from the end of a curve to its name
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


def literal(told: Any) -> Any:
    """Return what a figure is told, with dollars in all texts as letters: no label is a formula."""
    if isinstance(told, str):
        return told.replace("$", r"\$")
    if isinstance(told, Mapping):
        return {literal(key): literal(value) for key, value in told.items()}
    return [literal(item) for item in told] if isinstance(told, list) else told


def look(method: str) -> Look:
    """Return the look of a method; a variant (``<method>-<variant>``) is dashed and hollow in the method's colour."""
    whole = name = ALSO.get(method, method)
    while name not in LOOKS and "-" in name:
        name = name.rpartition("-")[0]
        name = ALSO.get(name, name)
    if name not in LOOKS:
        return PLAIN
    return LOOKS[name] if name == whole else LOOKS[name]._replace(linestyle="--", hollow=True)


def line(method: str | Look) -> dict[str, Any]:
    """Return the keyword arguments of ``Axes.plot`` for a method."""
    own = look(method) if isinstance(method, str) else method
    return {
        "color": own.color,
        "linestyle": own.linestyle,
        "marker": own.marker,
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
    def wrapper(frames: Frames, options: Options) -> Figure:
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
    """Draw one curve per method, or a marker where it has one point, and return their ends for `label_ends`.

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
        look = dict(looks[method] if looks else line(method))
        look["marker"] = look["marker"] or ("o" if len(mean) == 1 else "")
        ax.plot(mean.index, mean, label=method, clip_on=False, **look)
        x, y = mean.index[-1], mean.iloc[-1]
        ends.append((name(method, y), x, y, look["color"]))
    return ends


def band(ax: Axes, method: str, low: pd.Series, high: pd.Series, alpha: float = 0.12) -> None:
    """Fill what lies between two curves of a method."""
    ax.fill_between(low.index, low, high, color=line(method)["color"], alpha=alpha, lw=0)


def panel(figure: Figure, x: float, y: float, wide: float, tall: float) -> Axes:
    """Add a panel at a place in inches, from the lower left corner of a figure."""
    width, height = figure.get_size_inches()
    return figure.add_axes((x / width, y / height, wide / width, tall / height))


def field(figure: Figure, x: float, y: float, wide: float, tall: float, top: float = 0.0) -> Axes:
    """Add a `panel` without axes in which places are inches, from its left edge and below ``top``."""
    ax = panel(figure, x, y, wide, tall)
    ax.set(xlim=(0, wide), ylim=(top - tall, top))
    ax.set_axis_off()
    return ax


def foot(figure: Figure, text: str) -> None:
    """Write what a figure leaves out, or needs as a key, at its foot."""
    x, y = 0.02 / figure.get_figwidth(), 0.08 / figure.get_figheight()
    note(figure, x, y, text, QUIET, va="center")


def note(on: Axes | Figure, x: float, y: float, text: str, color: Any = INK, **more: Any) -> None:
    """Write a text in the size of labels; ``more`` is for `matplotlib.axes.Axes.text`."""
    on.text(x, y, text, color=color, **{"fontsize": LABEL_SIZE} | more)


def log_ticks(axis: Axis, form: str = "", **locator: Any) -> None:
    """Tick a logarithmic axis as its `matplotlib.ticker.LogLocator` says, without minor ticks."""
    axis.set_major_locator(LogLocator(**locator))
    if form:
        axis.set_major_formatter(form)
    axis.set_minor_locator(NullLocator())


def session_axis(ax: Axes, sessions: Any, ticks: int = 5, name: str = "session") -> None:
    """Set limits, ticks and name of an axis of sessions."""
    ax.set_xlim(sessions.min() - 0.4, sessions.max() + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    ax.set_xlabel(name)


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
    lower, upper = scale * np.array(frame.min), scale * np.array(frame.max) + (8, 0)
    taken = [(x - 2.2, y - 2.2, x + 2.2, y + 2.2) for x, y in at]
    for x0, y0, x1, y1 in avoid:
        ends = np.sort(ax.transData.transform([(x0, y0), (x1, y1)]) * scale, axis=0)
        taken.append((*(ends[0] - 1.0), *(ends[1] + 1.0)))
    radius, angle = np.array([*product((4.0, 9.0, 15.0, 22.0, 30.0, 40.0), range(0, 360, 15))]).T
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    for (text, x, y, color), (px, py) in zip(points, at, strict=True):
        # Drawn letters with their spaces take up to 5% more than their outlines.
        width = 1.05 * TextPath((0, 0), text, prop=font).get_extents().width + 1.5
        half = 0.55 * LABEL_SIZE
        left, middle = px + radius * cosine - (width / 2) * (1 - cosine), py + radius * sine
        starts = np.stack([left, middle - half], axis=1)
        ends = np.stack([left + width, middle + half], axis=1)
        outside = (lower - starts).clip(min=0) + (ends - upper).clip(min=0)
        others = np.array(taken)[:, None]
        shared = np.minimum(ends, others[..., 2:]) - np.maximum(starts, others[..., :2])
        cost = shared.clip(min=0).prod(axis=2).sum(axis=0) + 50 * outside.sum(axis=1)
        best = np.lexsort((abs(angle - 180) < 90, radius, cost))[0]
        taken.append((*starts[best], *ends[best]))
        centre = (starts[best] + ends[best]) / 2 - (px, py)
        arrow = {"shrinkB": 2.0} if radius[best] > 4 else None
        beside(ax, text, (x, y), centre, color, arrow, ha="center")


def label_ends(ax: Axes, ends: Sequence[tuple[str, float, float, Any]]) -> None:
    """Write each curve's name to the right of its end, moved apart where names would overlap.

    Limits and scales of ``ax`` must be final. A thin line joins a moved name to its curve.

    Parameters
    ----------
    ends : sequence of (text, x, y, colour)
        Last point of each curve, in data coordinates.
    """
    if not ends:
        return
    points = 72 / ax.figure.dpi
    at = [ax.transData.transform((x, y))[1] * points for _, x, y, _ in ends]
    box = ax.get_window_extent()
    placed = spread(at, LINE, box.y0 * points, box.y1 * points)
    arrow = {"alpha": 0.6, "shrinkB": 2.5, "relpos": (0, 0.5)}
    for (text, x, y, color), old, new in zip(ends, at, placed, strict=True):
        beside(ax, text, (x, y), (REACH, new - old), color, arrow, ha="left")


def beside(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    shift: Sequence[float],
    color: Any,
    arrow: dict[str, Any] | None = None,
    va: str = "center",
    **more: Any,
) -> None:
    """Write a text beside a point: ``shift`` points away from it, perhaps joined to it by a thin line."""
    line = {"arrowstyle": "-", "lw": 0.4, "color": color, "shrinkA": 0}
    ax.annotate(
        text,
        at,
        xytext=(shift[0], shift[1]),
        textcoords="offset points",
        va=va,
        fontsize=LABEL_SIZE,
        color=ink(color),
        annotation_clip=False,
        arrowprops=None if arrow is None else line | arrow,
        **more,
    )
