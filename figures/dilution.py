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
from figures.frames import labels, require, select
from sparcl.base.errors import InputError
from study.places import where

NULL = 1e-10  # below this share of the largest an eigenvalue is zero up to rounding and its mode arbitrary
DEPTH = 1e-5  # the panel ends at this share of the largest eigenvalue
HEADROOM = 0.32  # above the curves, for their names
EXACT, BOUND = "#0072B2", "#D55E00"
QUESTION = "How much does a new session dilute what old sessions say?"
CORE = "#FAF0E6"  # behind the modes of the core
# Parts of the joint ridge's shift of old logits: column, name, colour and dashes.
SHIFTS = (
    ("joint_drift_core", "in the core", BOUND, "-"),
    ("joint_drift_residual", "in the rest", style.QUIET, "--"),
)


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
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
    values = [
        "order",
        "session",
        "mode",
        "eigenvalue",
        "old_eigenvalue",
        "shrink_exact",
        "shrink_bound",
    ]
    rows = select(frames, "spectrum", options, values)
    require(rows, "spectrum", ["eigenvalue"])
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
    datasets = labels(options, "datasets", options["datasets"])
    margins = (0.46, 0.1, 0.58 if wide else 0.9, 0.24)
    figure, stacks = style.per_dataset(datasets, 3, 1.15, margins, (0.36, 0.42), question=QUESTION)
    for dataset, (above, below, shift) in stacks.items():
        of_set = rows[rows["dataset"] == dataset]
        _spectra(above, of_set)
        if style.is_first_column(above):
            above.set_ylabel("eigenvalue of $R$")
        if of_set["session"].max() == 1:
            style.undefined(below, style.ALONE)
            style.undefined(shift, style.ALONE)
            continue
        moved = shifts[shifts["dataset"] == dataset].set_index("session")
        _shift(shift, moved)
        rank = float(moved["core_rank"][session])
        for ax in (above, below):
            ax.axvspan(0.8, rank, color=CORE, lw=0, zorder=0, label="core")
        _shrink(below, of_set[of_set["session"] == session])
        below.set_xlim(above.get_xlim())
        below.set_xlabel("mode")
        if style.is_first_column(above):
            below.set_ylabel(f"shrink in session {session}")
            shift.set_ylabel("logit shift (%)")
    sentences = (
        r"shrink of $u^{\mathrm{T}}A^{-1}u=1/a$ for an old eigenvector $u$.",
        r"Exact: $1-a\,u^{\mathrm{T}}(A+dR)^{-1}u$.",
        r"Shared basis: $\delta/(a+\delta)$, $\delta=u^{\mathrm{T}}dR\,u$; only an upper bound otherwise.",
    )
    figure.text(
        0.5,
        0.09 / figure.get_figheight(),
        ("  " if wide else "\n").join(sentences),
        ha="center",
        fontsize=style.LABEL_SIZE + 0.5 * wide,
    )
    return figure


def _shifts(
    frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any], order: int
) -> pd.DataFrame:
    """Return, per data set and later session, the core's rank and the joint ridge's shift, in percent."""
    columns = ["core_rank", *(column for column, *_ in SHIFTS)]
    table = select(frames, "diagnostics", options, ["order", "session", *columns])
    table = table[(table["order"] == order) & (table["session"] > 1)]
    # Sums alone decide these: every method of a stream has the same.
    table = table.groupby(["dataset", "session"], as_index=False)[columns].first()
    require(table, "diagnostics", columns)
    return table.assign(**{column: 100 * table[column] for column, *_ in SHIFTS})


def _shift(ax: Axes, rows: pd.DataFrame) -> None:
    """Joint ridge's shift of old logits by session, along the core and beside it."""
    for column, name, color, dashes in SHIFTS:
        ax.plot(rows.index, rows[column], color=color, ls=dashes, label=name, clip_on=False)
    top = float(rows[[column for column, *_ in SHIFTS]].to_numpy().max())
    ax.set_ylim(0, 1.45 * top)
    for (_, name, color, _), y in zip(SHIFTS, (0.99, 0.85), strict=True):
        _key(ax, name, color, y)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    style.session_axis(ax, rows.index.to_series())


def _key(ax: Axes, text: str, color: Any, y: float) -> None:
    """Name a curve in its colour at the upper right of a panel."""
    at = {"transform": ax.transAxes, "ha": "right", "va": "top"}
    style.note(ax, 0.98, y, text, style.ink(color), **at)


def _spectra(ax: Axes, rows: pd.DataFrame) -> None:
    """Eigenvalue against mode, light to dark over sessions."""
    sessions = sorted(rows["session"].unique())
    floor = NULL * rows["eigenvalue"].max()
    for session, color in zip(sessions, style.ramp(len(sessions)), strict=True):
        curve = rows[(rows["session"] == session) & (rows["eigenvalue"] > floor)].sort_values(
            "mode"
        )
        ax.loglog(
            curve["mode"], curve["eigenvalue"], color=color, lw=1.0, label=f"session {session}"
        )
        if session == sessions[0]:
            _name(ax, f"session {session}", curve, style.INK, share=0.7, below=True)
        elif session == sessions[-1]:
            _name(ax, f"session {session}", curve, color, share=0.5, below=False)
    ax.set_ylim(bottom=max(ax.get_ylim()[0], DEPTH * rows["eigenvalue"].max()))
    style.log_ticks(ax.yaxis, numticks=6)
    style.log_ticks(ax.xaxis, "{x:.0f}")


def _name(ax: Axes, text: str, curve: pd.DataFrame, color: Any, share: float, below: bool) -> None:
    """Name a falling curve on its free side, at a share of its (logarithmic) length."""
    x = curve["mode"].max() ** share
    y = np.exp(np.interp(np.log(x), np.log(curve["mode"]), np.log(curve["eigenvalue"])))
    ax.annotate(
        text,
        (x, y),
        xytext=(-2, -2) if below else (2, 2),
        textcoords="offset points",
        ha="right" if below else "left",
        va="top" if below else "bottom",
        fontsize=style.LABEL_SIZE,
        color=style.ink(color),
    )


def _shrink(ax: Axes, rows: pd.DataFrame) -> None:
    """Exact shrink and its shared-basis value against the old mode."""
    rows = rows.sort_values("mode")
    require(rows, "spectrum", ["old_eigenvalue"])
    rows = rows[rows["old_eigenvalue"] > NULL * rows["old_eigenvalue"].max()]
    require(rows, "spectrum", ["shrink_exact", "shrink_bound"])
    ax.semilogx(rows["mode"], rows["shrink_bound"], color=BOUND, ls="--", label="bound")
    ax.semilogx(rows["mode"], rows["shrink_exact"], color=EXACT, label="exact")
    ax.set_ylim(0, max(1.0, rows["shrink_bound"].max() + HEADROOM))
    ax.set_yticks([0, 0.5, 1])
    for text, color, y in (("shared basis (bound)", BOUND, 0.99), ("exact", EXACT, 0.85)):
        _key(ax, text, color, y)
    style.log_ticks(ax.xaxis, "{x:.0f}")
