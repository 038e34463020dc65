"""Average accuracy by one setting at a time, and the condition numbers that explain the ridge."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from figures import style
from figures.frames import Frames, Options, label, require, select
from sparcl.base.errors import InputError
from study.places import where

VALUE = "A_bar"
SETTINGS = ["ridge", "tau", "m", "refresh"]
LOOK = {"linear": "sparcl", "ReLU": "sparcl-plus", "refresh": "sparcl"}
CONDITIONS = {"condition": "all modes", "kappa": "effective"}
# Inches: left edges and widths of the panels and of the colour bar, their height, and what stands above and below.
PANELS = ((0.4, 1.5), (2.0, 0.07), (2.66, 1.16), (4.3, 0.86), (5.66, 0.68))
TALL, ABOVE, BELOW = 1.1, 0.26, 0.42


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
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
        Means over (order, seed) pairs with one standard deviation: below the number of a cell, as a
        whisker of a curve.

    Raises
    ------
    InputError
        A method or pair is missing, a drawn cell is empty, or the grid has not every ridge at every tau.
    """
    groups = options["groups"]
    methods = list(dict.fromkeys(method for ids in groups.values() for method in ids))
    runs = select(frames, "runs", options, [VALUE], methods, gaps=[*SETTINGS, "width"])
    runs["m"] = runs["m"].fillna(runs["width"])  # SPARCL+'s name of the same setting
    require(runs, "runs", SETTINGS)
    by_method = runs.groupby(["dataset", "method"])
    means = by_method[[VALUE, *SETTINGS]].mean()
    means["spread"] = by_method[VALUE].std().fillna(0.0)
    traced = select(frames, "diagnostics", options, ["session"], gaps=[*CONDITIONS])
    traced = traced.dropna(subset=[*CONDITIONS])
    datasets = list(options["datasets"])
    row = ABOVE + TALL + BELOW
    figure = Figure(figsize=(style.PAGE, row * len(datasets)))
    for line, dataset in enumerate(datasets):
        bottom = row * (len(datasets) - line) - ABOVE - TALL
        grid, bar, width, refresh, condition = (
            style.panel(figure, x, bottom, wide, TALL) for x, wide in PANELS
        )
        of_set = means.loc[dataset]
        _grid(grid, bar, of_set.loc[groups["grid"]])
        _widths(width, {name: of_set.loc[groups[name]] for name in ("linear", "ReLU")})
        _refresh(refresh, of_set.loc[groups["refresh"]])
        _conditions(condition, traced[traced["dataset"] == dataset])
        name = label(options, "datasets", dataset)
        grid.set_title(f"{name}, average accuracy (%)", loc="left")
        for ax in (width, refresh):
            ax.set_title("average accuracy (%)", loc="left", fontsize=style.LABEL_SIZE)
        condition.set_title("condition number", loc="left", fontsize=style.LABEL_SIZE)
    return figure


def _grid(ax: Axes, bar: Axes, rows: pd.DataFrame) -> None:
    """Heat map with its key: lighter is more accurate, and each cell states accuracy and spread."""
    table = rows.pivot(index="ridge", columns="tau", values=VALUE)
    spread = rows.pivot(index="ridge", columns="tau", values="spread")
    values = table.to_numpy(dtype=float)
    if np.isnan(values).any():
        i, j = np.argwhere(np.isnan(values))[0]
        raise InputError(
            f"figure sensitivity: the grid has no method with ridge {table.index[i]:g} and tau "
            f"{table.columns[j]:g}; add it to {where('figures', 'sensitivity', 'groups', 'grid')}, or take out its row "
            "or column"
        )
    low, high = float(values.min()), float(values.max())
    colors = matplotlib.colormaps["viridis"]
    image = ax.imshow(table, cmap=colors, aspect="auto", vmin=low, vmax=high)
    for (i, j), value in np.ndenumerate(values):
        ground = colors((value - low) / (high - low) if high > low else 0.5)
        dark = style.contrast(ground[:3]) >= style.READABLE
        for text, up, size in (
            (f"{value:.1f}", 0.06, style.LABEL_SIZE - 0.5),
            (f"± {spread.iloc[i, j]:.1f}", -0.26, style.LABEL_SIZE - 1.5),
        ):
            color = "white" if dark else "black"
            ax.text(j, i - up, text, ha="center", va="center", fontsize=size, color=color)
    image.set_label(VALUE)
    ax.figure.colorbar(image, cax=bar)
    bar.yaxis.set_major_locator(MaxNLocator(4))
    bar.tick_params(length=1.5, labelsize=style.LABEL_SIZE - 0.5)
    bar.spines[:].set_visible(False)
    ax.set_xticks(range(table.shape[1]), [f"{tau:.2f}".lstrip("0") for tau in table.columns])
    ax.set_yticks(range(table.shape[0]), [f"{ridge:g}" for ridge in table.index])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(r"$\tau$")
    ax.set_ylabel("ridge")


def _whiskers(ax: Axes, x: Any, rows: pd.DataFrame, color: Any) -> None:
    """Draw one standard deviation to each side of the points of a curve."""
    look: dict[str, Any] = {"fmt": "none", "elinewidth": 0.7, "capsize": 1.5}
    ax.errorbar(x, rows[VALUE], yerr=rows["spread"], ecolor=color, **look)


def _widths(ax: Axes, curves: Mapping[str, pd.DataFrame]) -> None:
    """Accuracy by width of the map of the residual, on a logarithmic axis."""
    ends = []
    for name, rows in curves.items():
        rows = rows.sort_values("m")
        look = style.line(LOOK[name])
        ax.semilogx(rows["m"], rows[VALUE], label=name, clip_on=False, **look)
        _whiskers(ax, rows["m"], rows, look["color"])
        ends.append((name, rows["m"].iloc[-1], rows[VALUE].iloc[-1], look["color"]))
    widths = sorted({m for rows in curves.values() for m in rows["m"]})
    ax.set_xticks(widths, [f"{m:.0f}" for m in widths])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.margins(y=0.12)
    ax.set_xlabel("width $m$")
    style.label_ends(ax, ends)


def _refresh(ax: Axes, rows: pd.DataFrame) -> None:
    """Accuracy by number of sessions between two partitions; 0 in the settings means never."""
    rows = rows.sort_values("refresh", key=lambda period: period.replace(0, np.inf))
    places, look = range(len(rows)), style.line(LOOK["refresh"])
    ax.plot(places, rows[VALUE], label="refresh", clip_on=False, **look)
    _whiskers(ax, places, rows, look["color"])
    names = [f"{period:.0f}" if period else "never" for period in rows["refresh"]]
    ax.set_xticks(places, names)
    ax.set_xlim(-0.3, len(rows) - 0.7)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.margins(y=0.12)
    ax.set_xlabel("refresh (sessions)")


def _conditions(ax: Axes, rows: pd.DataFrame) -> None:
    """Condition number of R + ridge I, and that of its effective modes, by session."""
    ends = []
    for (column, name), dashes in zip(CONDITIONS.items(), ("-", "--"), strict=True):
        by_session = rows.groupby("session")[column]
        mean = by_session.mean()
        ax.semilogy(mean.index, mean, color=style.INK, ls=dashes, label=column, clip_on=False)
        low, high = by_session.min(), by_session.max()
        ax.fill_between(mean.index, low, high, color=style.INK, alpha=0.12, lw=0)
        ends.append((name, mean.index[-1], mean.iloc[-1], style.INK))
    style.log_ticks(ax.yaxis, "{x:g}", subs=[1, 2, 5], numticks=8)
    style.session_axis(ax, rows["session"], ticks=4)
    style.label_ends(ax, ends)
