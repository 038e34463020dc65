"""The plots on the page of ``sparcl inspect``, as SVG; the module that imports matplotlib (extra ``plots``).

A function draws a panel, and its docstring is the caption.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from sparcl.app.inspecting import LARGE, Inspection
from sparcl.base.types import Array

SIZE = (4.2, 2.8)  # inches
CORE, QUIET = "#FAF0E6", "#767676"  # behind the modes of the core; lines that measure others
LOOKS = (("#D55E00", "-"), ("#0072B2", "--"), ("#009E73", "-."))  # of the curves of a panel
DEPTH = 1e-6  # a panel ends at this share of the largest eigenvalue
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "sparcl",  # ids that do not differ from run to run
    "font.size": 9,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 3,
}


def drawn(found: Inspection) -> Iterator[tuple[str, str]]:
    """Yield each plot that the sums allow, as SVG, and its caption; equal inspections give equal text."""
    panels: list[Callable[[Axes, Inspection], None]] = []
    panels += [_spectrum, _energy] if len(found.values) else []
    panels += [_dilution, _signals, _drift] if len(found.sessions) > 1 else []
    panels += [] if found.cosine is None else [_cosines]
    for number, draw in enumerate(panels):
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(cast(Any, SETTINGS))  # its stubs want literal keys
            figure = Figure(figsize=SIZE, layout="constrained")
            draw(figure.subplots(), found)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        text = buffer.getvalue()
        text = text[text.index("<svg") :]
        # No two plots of the page share an id.
        text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>plot{number}-", text)
        yield text, " ".join((draw.__doc__ or "").split())


def _of(rows: list[dict[str, Any]], key: str) -> Array:
    """Return a column of rows, nan where a row lacks it."""
    return np.array([row.get(key) for row in rows], dtype=np.float64)


def _curves(ax: Axes, x: Array, curves: dict[str, Array], marker: str = "") -> None:
    """Draw curves, named above the panel."""
    for (name, y), (color, dashes) in zip(curves.items(), LOOKS, strict=False):
        ax.plot(x, y, color=color, ls=dashes, marker=marker, label=name)
    _names(ax)


def _names(ax: Axes) -> None:
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0, columnspacing=1)


def _modes(ax: Axes, rank: int, last: int) -> None:
    """Shade the core, and number modes as 1, 10, 100, 1000."""
    ax.axvspan(0.8, rank, color=CORE, lw=0, zorder=0)
    ax.set(xscale="log", xlim=(0.8, max(last, 2)), xlabel="mode")
    ax.xaxis.set_major_locator(LogLocator())
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.xaxis.set_minor_locator(NullLocator())


def _sessions(ax: Axes, found: Inspection) -> Array:
    """Name the axis, and return the numbers of the sessions after the first."""
    numbers = _of(found.sessions[1:], "session")
    ax.set(xlabel="session", xlim=(numbers[0] - 0.4, numbers[-1] + 0.4))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    return numbers


def _percent(ax: Axes) -> None:
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.set_ylim(bottom=0)


def _spectrum(ax: Axes, found: Inspection) -> None:
    """Spectrum: eigenvalues of R by mode. Shaded: the core of share tau."""
    last, top = len(found.sessions), float(found.values[0])
    colors = matplotlib.colormaps["viridis"](np.linspace(0.86, 0, max(last, 2))[-last:])
    for session, color in enumerate(colors, 1):
        rows = [r for r in found.modes if r["session"] == session and r["eigenvalue"] > DEPTH * top]
        name = f"session {session}" if session in (1, last) and last > 1 else None
        ax.loglog(_of(rows, "mode"), _of(rows, "eigenvalue"), color=color, label=name)
    if last > 1:
        _names(ax)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("eigenvalue of R")
    _modes(ax, found.k, len(found.values))


def _energy(ax: Axes, found: Inspection) -> None:
    """Energy: share of the trace that the leading modes hold together."""
    modes = np.arange(1, len(found.values) + 1)
    _curves(ax, modes, {f"tau {found.tau:g} at mode {found.k}": found.energy})
    ax.axhline(found.tau, color=QUIET, lw=0.8, ls=":")
    ax.plot([found.k], [found.energy[found.k - 1]], "o", color=LOOKS[0][0])
    ax.set_ylabel("energy")
    _modes(ax, found.k, len(found.values))
    _percent(ax)


def _dilution(ax: Axes, found: Inspection) -> None:
    """Dilution: what share of the inverse along each old eigenvector the last session takes."""
    rows = [row for row in found.modes if row["session"] == len(found.sessions)]
    names = {"bound (shared basis)": "shrink_bound", "exact": "shrink_exact"}
    _curves(ax, _of(rows, "mode"), {name: _of(rows, key) for name, key in names.items()})
    ax.set_ylabel("share of the inverse")
    _modes(ax, found.sessions[-1]["core_rank"], len(found.values))
    _percent(ax)


def _signals(ax: Axes, found: Inspection) -> None:
    """Overlap of each session with the core before it, and mean cosine between prototypes.

    Dotted: what the protocol's advice takes as large.
    """
    x, rows = _sessions(ax, found), found.sessions[1:]
    names = {"overlap with the core": "overlap_share", "cosine of prototypes": "prototype_cosine"}
    _curves(ax, x, {name: _of(rows, key) for name, key in names.items()}, "o")
    for key, (color, _) in zip(("overlap", "cosine"), LOOKS, strict=False):
        ax.axhline(LARGE[key], color=color, lw=0.8, ls=":")
    ax.set_ylim(0, 1.02)


def _drift(ax: Axes, found: Inspection) -> None:
    """Drift: shift of old logits on old training samples.

    It is a root mean square, in percent of that of the logits before.
    """
    x, rows = _sessions(ax, found), found.sessions[1:]
    names = {"joint ridge, core": "joint_drift_core", "rest": "joint_drift_residual"}
    names |= {"this learner": "own_drift"} if "own_drift" in rows[0] else {}
    _curves(ax, x, {name: _of(rows, key) for name, key in names.items()}, "o")
    ax.set_ylabel("shift of old logits")
    _percent(ax)


def _cosines(ax: Axes, found: Inspection) -> None:
    """Prototypes: cosine between the mean rows of each two classes."""
    prototypes = np.asarray(found.prototypes)
    norm = np.linalg.norm(prototypes, axis=0)
    unit, c = prototypes / np.where(norm > 0, norm, 1), prototypes.shape[1]
    edges = (0.5, c + 0.5, c + 0.5, 0.5)
    image = ax.imshow(unit.T @ unit, cmap="cividis", vmin=0, vmax=1, extent=edges)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True))
    ax.set(xlabel="class", ylabel="class")
    ax.figure.colorbar(image, ax=ax, shrink=0.9, label="cosine")
