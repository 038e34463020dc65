"""Changes when a session arrives: the spectrum, old logits inside and outside the core, prototypes."""

from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, label, labels, measured, require, select, shown
from figures.panels import per_dataset, undefined

JOINT = "acil-paper"  # joint ridge with the ridge of the traces, which hold its split
BEFORE, AFTER = "prototype_cosine", "expanded_prototype_cosine"
QUESTION = "What changes when a session arrives?"
SPLIT = ["drift_core", "drift_residual"]
MODES = 4  # factor between the modes that are drawn: 1, 4, 16, 64, ...
KEYS = ["dataset", "method", "order", "seed", "session"]


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
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
    drifts = _drifts(frames, options, methods)
    both = [*methods, *expanding]
    cosines = select(frames, "diagnostics", options, ["session", BEFORE], both, gaps=[AFTER])
    require(cosines[cosines["method"].isin(expanding)], "diagnostics", [AFTER])
    names = labels(options, "methods", methods, short=True).values()
    figure, panels = per_dataset(
        options,
        spectrum,
        ["eigenvalue of $R$", "", "prototype cosine"],
        1.1,
        style.room(["mode"]),
        left=max(style.room(names) + 0.05, 0.42),
        bottom=0.6,
        across=0.26,
        down=0.58,
        question=QUESTION,
    )
    for dataset, of_set, (spectra, bars, prototypes) in panels:
        _eigenvalues(spectra, of_set)
        _bars(bars, drifts[drifts["dataset"] == dataset], methods)
        _prototypes(prototypes, cosines[cosines["dataset"] == dataset], expanding)
        if spectra.get_ylabel():  # at the left edge
            bars.set_yticks(range(len(methods)), names)
            bars.tick_params(axis="y", length=0, labelsize=style.LABEL_SIZE)
            _key_of_bars(bars)
            _key_of_curves(prototypes, expanding, options)
    return figure


def _drifts(frames: Frames, options: Options, methods: list[str]) -> pd.DataFrame:
    """Return, per data set and method, mean and deviation of the drift and the core's share of its square."""
    of_session = select(frames, "sessions", options, ["session", "drift_scaled"], methods)
    of_session = of_session[of_session["session"] > 1]
    joint = [f"joint_{column}" for column in SPLIT]
    parts = select(frames, "diagnostics", options, ["session"], methods, gaps=[*SPLIT, *joint])
    parts = parts[parts["session"] > 1]
    traced = parts["method"] == JOINT
    require(parts[traced], "diagnostics", joint)
    core, residual = (
        parts[own].where(~traced, parts[its]) ** 2 for own, its in zip(SPLIT, joint, strict=True)
    )
    # Both are zero up to rounding: nothing moved, so nothing moved along the core.
    parts["share"] = (core / (core + residual)).where(core + residual != 0, 0.0)
    if "k" in parts:  # without a core there is no split
        parts.loc[~traced & ~(parts["k"] > 0), "share"] = np.nan
    rows = of_session.merge(parts[[*KEYS, "share"]], on=KEYS)
    rows["drift"] = 100 * rows["drift_scaled"]
    runs = rows.groupby(KEYS[:4])[["drift", "share"]].mean().groupby(["dataset", "method"])
    spread = runs["drift"].std().fillna(0.0)
    return runs.mean().assign(spread=spread).reset_index()


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
        ends.append((f"{mode}", curve.index[-1], curve.iloc[-1], color))
    style.log_ticks(ax.yaxis, numticks=6)
    style.session_axis(ax, rows["session"])
    style.label_ends(ax, ends)
    x = 1 + style.REACH / 72 / (ax.get_position().width * style.PAGE)
    style.note(ax, x, 1.02, "mode", style.QUIET, transform=ax.transAxes)


def _bars(ax: Axes, rows: pd.DataFrame, methods: list[str]) -> None:
    """Drift of each method, the core's share of its square solid."""
    if rows.empty:
        undefined(ax)
        return
    rows = rows.set_index("method")
    ax.set_xlim(0, 1.25 * (rows["drift"] + rows["spread"]).max())
    ax.set_ylim(len(methods) - 0.4, -0.6)
    for place, method in enumerate(methods):
        drift, share, spread = map(float, rows.loc[method, ["drift", "share", "spread"]])
        color = style.line(method)["color"]
        split = not np.isnan(share)
        pale = {"facecolor": (color, 0.22) if split else "none", "edgecolor": color, "lw": 0.6}
        ax.barh(place, drift, 0.62, label=method, **pale)
        if split:
            ax.barh(place, share * drift, 0.62, color=color, lw=0, label=f"{method} core")
        ax.plot([drift - spread, drift + spread], [place, place], color=style.INK, lw=0.7)
        style.beside(ax, f"{drift:.1f}", (drift + spread, place), (3, 0), color)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel("old-logit drift (%)")


def _prototypes(ax: Axes, rows: pd.DataFrame, methods: list[str]) -> None:
    """Mean cosine between class prototypes: of the features, and after each method's expansion."""
    before = rows.groupby("session")[BEFORE].mean()
    ax.plot(before.index, before, color=style.INK, lw=1.2, ls=":", label="features", clip_on=False)
    for method in methods:
        after = rows[rows["method"] == method].groupby("session")[AFTER].mean()
        ax.plot(after.index, after, label=method, clip_on=False, **style.line(method))
    ax.margins(y=0.15)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    style.session_axis(ax, rows["session"])


def _below(ax: Axes) -> Axes:
    """Return a field below a panel as wide as the page; its keys stand in one line."""
    figure = cast(Figure, ax.figure)
    y = ax.get_position().y0 * figure.get_figheight() - 0.56
    return style.field(figure, 0, y, style.PAGE, 0.14, 0.07)


def _key_of_bars(ax: Axes) -> None:
    """Say below the bars what solid, pale and hollow mean."""
    field, x = _below(ax), ax.get_position().x0 * style.PAGE
    color = style.INK
    for face, text in (
        (color, "along the core (share of the squared change)"),
        ((color, 0.22), "beside the core"),
        ("none", "a method without a core"),
    ):
        field.add_patch(Rectangle((x, -0.04), 0.16, 0.08, fc=face, ec=color, lw=0.6, label=text))
        style.note(field, x + 0.22, 0, text, va="center")
        x += 0.22 + style.room([text]) + 0.1
    field.plot([x, x + 0.16], [0, 0], color=color, lw=0.7)
    style.note(field, x + 0.22, 0, "one s.d. over orders", va="center")


def _key_of_curves(ax: Axes, methods: list[str], options: Options) -> None:
    """Name the curves of the cosines below their row."""
    field, x = _below(ax), ax.get_position().x0 * style.PAGE
    looks: list[tuple[str, dict[str, Any]]] = [("features", {"color": style.INK, "ls": ":"})]
    looks += [(label(options, "methods", m, short=True), style.line(m)) for m in methods]
    for name, look in looks:
        field.plot([x, x + 0.12, x + 0.24], [0] * 3, markevery=[1], label=name, **look)
        style.note(field, x + 0.3, 0, name, style.ink(look["color"]), va="center")
        x += 0.3 + style.room([name]) + 0.12
