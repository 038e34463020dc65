"""Average accuracy by one setting at a time, and the condition numbers that explain the ridge."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from figures import style
from figures.frames import label, require, select

VALUE = "A_bar"
LOOK = {"linear": "sparcl", "ReLU": "sparcl-plus", "refresh": "sparcl"}
CONDITIONS = {"condition": "all modes", "kappa": "effective"}
# Inches: left edges and widths of the four panels, their height, and what stands above and below.
PANELS = ((0.5, 1.62), (2.62, 1.2), (4.26, 0.86), (5.62, 0.72))
TALL, ABOVE, BELOW = 1.1, 0.26, 0.42


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw four panels per data set: ridge by tau, width, refresh period, condition numbers.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run, with its settings; ``diagnostics`` of a suite with traces.
    options : mapping
        ``datasets``, ``methods``; ``groups``: ``grid``, ``linear``, ``ReLU`` and ``refresh``, each with
        the methods of a panel or curve.

    Returns
    -------
    Figure
        Means over (order, seed) pairs.

    Raises
    ------
    InputError
        A method or pair is missing, or a drawn cell is empty.
    """
    groups = options["groups"]
    methods = list(dict.fromkeys(method for ids in groups.values() for method in ids))
    settings = ["ridge", "tau", "m", "refresh"]
    runs = select(frames, "runs", options, [VALUE, *settings, "width"], methods)
    runs["m"] = runs["m"].fillna(runs["width"])  # SPARCL+'s name of the same setting
    require(runs, "runs", [VALUE, *settings])
    means = runs.groupby(["dataset", "method"])[[VALUE, *settings]].mean()
    traced = select(frames, "diagnostics", options, ["session", *CONDITIONS])
    traced = traced.dropna(subset=list(CONDITIONS))
    datasets = list(options["datasets"])
    row = ABOVE + TALL + BELOW
    figure = Figure(figsize=(style.PAGE, row * len(datasets)))
    for line, dataset in enumerate(datasets):
        bottom = (row * (len(datasets) - line) - ABOVE - TALL) / figure.get_figheight()
        grid, width, refresh, condition = (
            figure.add_axes((x / style.PAGE, bottom, w / style.PAGE, TALL / figure.get_figheight()))
            for x, w in PANELS
        )
        of_set = means.loc[dataset]
        _grid(grid, of_set.loc[groups["grid"]])
        _widths(width, {name: of_set.loc[groups[name]] for name in ("linear", "ReLU")})
        _refresh(refresh, of_set.loc[groups["refresh"]], int(runs["sessions"].max()))
        _conditions(condition, traced[traced["dataset"] == dataset])
        name = label(options, "datasets", dataset)
        grid.set_title(f"{name}, average accuracy (%)", loc="left")
        for ax in (width, refresh):
            ax.set_title("average accuracy (%)", loc="left", fontsize=style.LABEL_SIZE)
        condition.set_title("condition number", loc="left", fontsize=style.LABEL_SIZE)
    return figure


def _grid(ax: Axes, rows: pd.DataFrame) -> None:
    """Heat map: darker is more accurate, and each cell states its accuracy."""
    table = rows.pivot(index="ridge", columns="tau", values=VALUE)
    low, high = float(np.nanmin(table)), float(np.nanmax(table))
    image = ax.imshow(
        table, cmap=matplotlib.colormaps["viridis_r"], aspect="auto", vmin=low, vmax=high
    )
    for (i, j), value in np.ndenumerate(table.to_numpy()):
        if np.isnan(value):
            continue
        dark = value > low + 0.45 * (high - low)
        ax.text(
            j,
            i,
            f"{value:.1f}",
            ha="center",
            va="center",
            fontsize=style.LABEL_SIZE - 0.5,
            color="white" if dark else style.INK,
        )
    image.set_label(VALUE)
    ax.set_xticks(range(table.shape[1]), [f"{tau:.2f}".lstrip("0") for tau in table.columns])
    ax.set_yticks(range(table.shape[0]), [f"{ridge:g}" for ridge in table.index])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(r"$\tau$")
    ax.set_ylabel("ridge")


def _widths(ax: Axes, curves: Mapping[str, pd.DataFrame]) -> None:
    """Accuracy by width of the map of the residual, on a logarithmic axis."""
    ends = []
    for name, rows in curves.items():
        rows = rows.sort_values("m")
        look = style.line(LOOK[name])
        ax.semilogx(rows["m"], rows[VALUE], label=name, clip_on=False, **look)
        ends.append((name, rows["m"].iloc[-1], rows[VALUE].iloc[-1], look["color"]))
    widths = sorted({m for rows in curves.values() for m in rows["m"]})
    ax.set_xticks(widths, [f"{m:.0f}" for m in widths])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.margins(y=0.12)
    ax.set_xlabel("width $m$")
    style.label_ends(ax, ends)


def _refresh(ax: Axes, rows: pd.DataFrame, sessions: int) -> None:
    """Accuracy by number of sessions between two partitions; 0 in the settings means never."""
    rows = rows.assign(place=rows["refresh"].where(rows["refresh"] > 0, sessions))
    rows = rows.sort_values("place")
    places = range(len(rows))
    ax.plot(places, rows[VALUE], label="refresh", clip_on=False, **style.line(LOOK["refresh"]))
    names = [f"{period:.0f}" if period else "never" for period in rows["refresh"]]
    ax.set_xticks(places, names)
    ax.set_xlim(-0.3, len(rows) - 0.7)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.margins(y=0.12)
    ax.set_xlabel("refresh (sessions)")


def _conditions(ax: Axes, rows: pd.DataFrame) -> None:
    """Condition number of R + ridge I, and that of its effective modes, by session."""
    ends = []
    for (column, name), dashes in zip(CONDITIONS.items(), ("-", "--"), strict=True):
        mean = rows.groupby("session")[column].mean()
        ax.semilogy(mean.index, mean, color=style.INK, ls=dashes, label=column, clip_on=False)
        ends.append((name, mean.index[-1], mean.iloc[-1], style.INK))
    ax.yaxis.set_major_locator(LogLocator(numticks=5))
    ax.yaxis.set_minor_locator(NullLocator())
    style.session_axis(ax, rows["session"], ticks=4)
    style.label_ends(ax, ends)
