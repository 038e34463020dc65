"""What changes when a session arrives: the spectrum, old logits inside and outside the core, prototypes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from figures import style
from figures.frames import label, measured, require, select, shown, valued

JOINT = "acil-paper"  # joint ridge with the ridge of the traces, which hold its split
BEFORE, AFTER = "prototype_cosine", "expanded_prototype_cosine"
SPLIT = ["drift_core", "drift_residual"]
MODES = 4  # factor between the modes that are drawn: 1, 4, 16, 64, ...
KEYS = ["dataset", "method", "order", "seed", "session"]


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw, for each data set, leading eigenvalues, drift split by the core, and prototype cosines.

    Parameters
    ----------
    frames : mapping
        ``spectrum``, ``diagnostics`` and ``sessions`` of one suite.
    options : mapping
        ``datasets``, ``methods``; ``show``: methods with a bar of drift; ``expanding``: methods
        whose prototypes are compared with those of the features.

    Returns
    -------
    Figure
        Means over class orders; bars are means over sessions too. The solid part of a bar is the
        core's share of the squared change of old logits; the bar is hollow for a method that has
        neither a core nor a trace of its sums.

    Raises
    ------
    InputError
        A frame, column, method or data set is missing, or a drawn cell is empty.
    """
    methods = shown(options)
    expanding = [m for m in options.get("expanding", []) if m in measured(options)]
    spectrum = select(frames, "spectrum", options, ["session", "mode", "eigenvalue"])
    require(spectrum, "spectrum", ["eigenvalue"])
    drifts = _drifts(frames, options, methods)
    cosines = select(
        frames, "diagnostics", options, ["session", BEFORE, AFTER], [*methods, *expanding]
    )
    require(cosines, "diagnostics", [BEFORE])
    require(cosines[cosines["method"].isin(expanding)], "diagnostics", [AFTER])
    datasets = list(options["datasets"])
    names = [valued(options, method, 99.9) for method in [*methods, *expanding]]
    room = style.room([*names, "features"])
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(len(datasets), 3, 1.05, margins, (room + 0.2, 0.46))
    for (spectra, bars, prototypes), dataset in zip(stacks, datasets, strict=True):
        _eigenvalues(spectra, spectrum[spectrum["dataset"] == dataset])
        _bars(bars, drifts[drifts["dataset"] == dataset], methods, options)
        of_set = cosines[cosines["dataset"] == dataset]
        _prototypes(prototypes, of_set, expanding, options)
        spectra.set_title(label(options, "datasets", dataset), loc="left")
        if style.is_first_column(spectra):
            spectra.set_ylabel("eigenvalue of $R$")
            prototypes.set_ylabel("prototype cosine")
    return figure


def _drifts(
    frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any], methods: list[str]
) -> pd.DataFrame:
    """Return, per data set and method, the mean drift and the core's share of its square."""
    of_session = select(frames, "sessions", options, ["session", "drift_scaled"], methods)
    of_session = of_session[of_session["session"] > 1]
    require(of_session, "sessions", ["drift_scaled"])
    joint = ["joint_drift_core", "joint_drift_residual"]
    parts = select(frames, "diagnostics", options, ["session", *SPLIT, *joint], methods)
    parts = parts[parts["session"] > 1]
    traced = parts["method"] == JOINT
    require(parts[traced], "diagnostics", joint)
    core = parts[SPLIT[0]].where(~traced, parts[joint[0]]) ** 2
    residual = parts[SPLIT[1]].where(~traced, parts[joint[1]]) ** 2
    # Both are zero up to rounding: nothing moved, so nothing moved along the core.
    parts["share"] = (core / (core + residual)).where(core + residual != 0, 0.0)
    if "k" in parts:  # without a core there is no split
        parts.loc[~traced & ~(parts["k"] > 0), "share"] = np.nan
    rows = of_session.merge(parts[[*KEYS, "share"]], on=KEYS)
    rows["drift"] = 100 * rows["drift_scaled"]
    return rows.groupby(["dataset", "method"], as_index=False)[["drift", "share"]].mean()


def _eigenvalues(ax: Axes, rows: pd.DataFrame) -> None:
    """Eigenvalue by session, one curve per mode, from dark to light."""
    table = rows.groupby(["mode", "session"])["eigenvalue"].mean().unstack()
    wanted = MODES ** np.arange(1 + int(np.log(table.index.max()) / np.log(MODES)))
    modes = list(dict.fromkeys(min(table.index, key=lambda m: abs(m - w)) for w in wanted))
    # A mode that no sample of the first sessions reaches is zero there up to rounding.
    modes = [m for m in modes if (table.loc[m] > 1e-6 * table.to_numpy().max()).all()]
    ends = []
    for mode, color in zip(modes, style.ramp(len(modes))[::-1], strict=True):
        curve = table.loc[mode]
        ax.semilogy(curve.index, curve, color=color, lw=1.1, label=f"mode {mode}", clip_on=False)
        ends.append((f"mode {mode}", curve.index[-1], curve.iloc[-1], color))
    ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())
    style.session_axis(ax, rows["session"])
    style.label_ends(ax, ends)


def _bars(ax: Axes, rows: pd.DataFrame, methods: list[str], options: Mapping[str, Any]) -> None:
    """Drift of each method, the core's share of its square solid."""
    if rows.empty:
        style.undefined(ax, style.ALONE)
        return
    rows = rows.set_index("method")
    ax.set_xlim(0, 1.04 * rows["drift"].max())
    ax.set_ylim(len(methods) - 0.4, -0.6)
    for place, method in enumerate(methods):
        drift, share = float(rows["drift"][method]), float(rows["share"][method])
        color = style.line(method)["color"]
        split = not np.isnan(share)
        ax.barh(
            place,
            drift,
            height=0.62,
            facecolor=(color, 0.22) if split else "none",
            edgecolor=color,
            lw=0.6,
            label=method,
        )
        if split:
            ax.barh(place, share * drift, height=0.62, color=color, lw=0, label=f"{method} core")
        ax.text(
            1 + style.REACH / 72 / (ax.get_position().width * style.PAGE),
            place,
            valued(options, method, drift),
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=style.LABEL_SIZE,
            color=color,
        )
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel("old-logit drift (%)")


def _prototypes(
    ax: Axes, rows: pd.DataFrame, methods: list[str], options: Mapping[str, Any]
) -> None:
    """Mean cosine between class prototypes: of the features, and after each method's expansion."""
    before = rows.groupby("session")[BEFORE].mean()
    ax.plot(before.index, before, color=style.INK, lw=1.2, ls=":", label="features", clip_on=False)
    ends = [("features", before.index[-1], before.iloc[-1], style.INK)]
    for method in methods:
        after = rows[rows["method"] == method].groupby("session")[AFTER].mean()
        look = style.line(method)
        ax.plot(after.index, after, label=method, clip_on=False, **look)
        name = label(options, "methods", method, short=True)
        ends.append((name, after.index[-1], after.iloc[-1], look["color"]))
    ax.margins(y=0.15)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    style.session_axis(ax, rows["session"])
    style.label_ends(ax, ends)
