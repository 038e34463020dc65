r"""How the energy of a new session shrinks the weight of old directions, and moves old logits.

Along an old eigenvector u of R (eigenvalue :math:`\lambda`, :math:`a = \lambda + ridge`) the inverse
that solves the ridge problem shrinks from 1/a to :math:`u^\top (A + dR)^{-1} u`: a relative loss of
:math:`1 - a\,u^\top (A + dR)^{-1} u`. Where old and new sessions share their eigenvectors this is
:math:`\delta/(a+\delta)` with :math:`\delta = u^\top dR\,u`; otherwise (Jensen) only a bound from above.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, require, select
from figures.panels import per_dataset, undefined
from sparcl.base.errors import InputError
from study.places import where

NULL = 1e-10  # below this share of the largest an eigenvalue is zero up to rounding and its mode arbitrary
DEPTH = 1e-5  # the panel ends at this share of the largest eigenvalue
HEADROOM = 0.32  # above the curves, for their names
QUESTION = "How much does a new session dilute what old sessions say?"
CORE = "#FAF0E6"  # behind the modes of the core
EXACT, BOUND = "#0072B2", "#D55E00"
# Shifts of old logits, and what a session takes from the inverse: column -> name, colour, dashes.
SHIFTS = {
    "joint_drift_core": ("in the core", BOUND, "-"),
    "joint_drift_residual": ("in the rest", style.QUIET, "--"),
}
SHRINKS = {
    "shrink_bound": ("shared basis (bound)", BOUND, "--"),
    "shrink_exact": ("exact", EXACT, "-"),
}


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw the spectrum of R after each session, the shrink of old modes, and the shift of old logits.

    Parameters
    ----------
    frames : mapping
        ``spectrum``: one row per data set, class order, session and mode; ``diagnostics``: one row per
        run and session, with the rank of the core and how far the joint ridge moves old logits along
        it and beside it. The first order is drawn.
    options : mapping
        ``datasets``; ``session``: the session whose arrival shrinks the old modes (default 2).

    Returns
    -------
    Figure
        One column per data set. The modes of the core are shaded: those of the previous sessions' R that
        hold the share tau of its energy.

    Raises
    ------
    InputError
        A data set is missing, or the chosen session has no old modes.
    """
    values, of_old = ["order", "session", "mode", "eigenvalue"], ["old_eigenvalue", *SHRINKS]
    rows = select(frames, "spectrum", options, values, gaps=of_old)
    rows = rows[rows["order"] == rows["order"].min()]  # a spectrum is of one class order
    session = options.get("session", 2)
    later = sorted(rows.loc[rows["old_eigenvalue"].notna(), "session"].unique())
    if later and session not in later:
        raise InputError(
            f"figure dilution: session {session} has no old modes to shrink; set "
            f"{where('figures', options.get('id', 'dilution'), 'session')} to one of {', '.join(map(str, later))}"
        )
    shifts = _shifts(frames, options, rows["order"].min())
    wide = style.width() == style.PAGE
    figure, panels = per_dataset(
        options,
        rows,
        ["eigenvalue of $R$", f"shrink in session {session}", "logit shift (%)"],
        1.15,
        0.1,
        left=0.46,
        bottom=0.58 if wide else 0.9,
        across=0.26,
        down=0.42,
        question=QUESTION,
    )
    for dataset, of_set, (above, below, shift) in panels:
        _spectra(above, of_set)
        if of_set["session"].max() == 1:
            undefined(below)
            undefined(shift)
            continue
        moved = shifts[shifts["dataset"] == dataset].set_index("session")
        _shift(shift, moved)
        rank = float(moved["core_rank"][session])
        for ax in (above, below):
            ax.axvspan(0.8, rank, color=CORE, lw=0, zorder=0, label="core")
        _shrink(below, of_set[of_set["session"] == session])
        below.set_xlim(above.get_xlim())
        below.set_xlabel("mode")
    sentences = (
        r"shrink of $u^{\mathrm{T}}A^{-1}u=1/a$ for an old eigenvector $u$.",
        r"Exact: $1-a\,u^{\mathrm{T}}(A+dR)^{-1}u$.",
        r"Shared basis: $\delta/(a+\delta)$, $\delta=u^{\mathrm{T}}dR\,u$; only an upper bound otherwise.",
    )
    said, size = ("  " if wide else "\n").join(sentences), style.LABEL_SIZE + 0.5 * wide
    figure.text(0.5, 0.09 / figure.get_figheight(), said, ha="center", fontsize=size)
    return figure


def _shifts(frames: Frames, options: Options, order: int) -> pd.DataFrame:
    """Return, per data set and later session, the core's rank and the joint ridge's shift, in percent."""
    columns = ["core_rank", *SHIFTS]
    table = select(frames, "diagnostics", options, ["order", "session"], gaps=columns)
    table = table[(table["order"] == order) & (table["session"] > 1)]
    # Sums alone decide these: every method of a stream has the same.
    table = table.groupby(["dataset", "session"], as_index=False)[columns].first()
    require(table, "diagnostics", columns)
    return table.assign(**{column: 100 * table[column] for column in SHIFTS})


def _shift(ax: Axes, rows: pd.DataFrame) -> None:
    """Joint ridge's shift of old logits by session, along the core and beside it."""
    _curves(ax, rows, SHIFTS, clip_on=False)
    ax.set_ylim(0, 1.45 * float(rows[[*SHIFTS]].to_numpy().max()))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    style.session_axis(ax, rows.index.to_series())


def _curves(
    ax: Axes, rows: pd.DataFrame, curves: Mapping[str, tuple[str, str, str]], **look: Any
) -> None:
    """Draw columns over the index, and name them in their colours at the upper right of the panel."""
    at = {"transform": ax.transAxes, "ha": "right", "va": "top"}
    for (column, (name, color, dashes)), y in zip(curves.items(), (0.99, 0.85), strict=True):
        ax.plot(rows.index, rows[column], color=color, ls=dashes, label=name, **look)
        style.note(ax, 0.98, y, name, style.ink(color), **at)


def _spectra(ax: Axes, rows: pd.DataFrame) -> None:
    """Eigenvalue against mode, light to dark over sessions."""
    sessions = sorted(rows["session"].unique())
    floor = NULL * rows["eigenvalue"].max()
    for session, color in zip(sessions, style.ramp(len(sessions)), strict=True):
        curve = rows[(rows["session"] == session) & (rows["eigenvalue"] > floor)]
        curve, name = curve.set_index("mode")["eigenvalue"].sort_index(), f"session {session}"
        ax.loglog(curve.index, curve, color=color, lw=1.0, label=name)
        if session == sessions[0]:
            _name(ax, name, curve, style.INK, share=0.7, below=True)
        elif session == sessions[-1]:
            _name(ax, name, curve, color, share=0.5, below=False)
    ax.set_ylim(bottom=max(ax.get_ylim()[0], DEPTH * rows["eigenvalue"].max()))
    style.log_ticks(ax.yaxis, numticks=6)
    style.log_ticks(ax.xaxis, "{x:.0f}")


def _name(ax: Axes, text: str, curve: pd.Series, color: Any, share: float, below: bool) -> None:
    """Name a falling curve on its free side, at a share of its (logarithmic) length."""
    x = curve.index.max() ** share
    y = np.exp(np.interp(np.log(x), np.log(curve.index), np.log(curve)))
    shift, ha, va = ((-2, -2), "right", "top") if below else ((2, 2), "left", "bottom")
    style.beside(ax, text, (x, y), shift, color, ha=ha, va=va)


def _shrink(ax: Axes, rows: pd.DataFrame) -> None:
    """Exact shrink and its shared-basis value against the old mode."""
    require(rows, "spectrum", ["old_eigenvalue"])
    rows = rows[rows["old_eigenvalue"] > NULL * rows["old_eigenvalue"].max()]
    require(rows, "spectrum", [*SHRINKS])
    ax.set_xscale("log")
    _curves(ax, rows.set_index("mode").sort_index(), SHRINKS)
    ax.set_ylim(0, max(1.0, rows["shrink_bound"].max() + HEADROOM))
    ax.set_yticks([0, 0.5, 1])
    style.log_ticks(ax.xaxis, "{x:.0f}")
