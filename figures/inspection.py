"""Panels about one learner, for the page of ``sparcl inspect``: spectrum, energy, dilution, drift, prototypes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from figures import style

SIZE = (style.COLUMN, 2.1)
CORE = "#FAF0E6"  # behind the modes of the core
ORANGE, BLUE, GREEN = "#D55E00", "#0072B2", "#009E73"
DEPTH = 1e-6  # a panel ends at this share of the largest eigenvalue


@style.styled
def spectrum(modes: pd.DataFrame, rank: int) -> Figure:
    """Draw eigenvalues of R by mode, a curve a session, with the core of ``rank`` modes shaded.

    Parameters
    ----------
    modes : a row a session and mode: session, mode, eigenvalue
    """
    figure, ax = _panel()
    sessions = sorted(modes["session"].unique())
    top = modes["eigenvalue"].max()
    for session, color in zip(
        sessions, style.ramp(max(len(sessions), 2))[-len(sessions) :], strict=True
    ):
        curve = modes[(modes["session"] == session) & (modes["eigenvalue"] > DEPTH * top)]
        ax.loglog(curve["mode"], curve["eigenvalue"], color=color)
    _core(ax, rank, modes["mode"].max())
    ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("eigenvalue of $R$")
    if len(sessions) > 1:
        _keys(
            ax,
            [
                (f"session {sessions[0]} (light)", style.QUIET),
                (f"to {sessions[-1]} (dark)", style.INK),
            ],
        )
    return figure


@style.styled
def energy(shares: np.ndarray, rank: int, tau: float) -> Figure:
    """Draw the share (D,) of the trace that leading modes hold together, and where it reaches ``tau``."""
    figure, ax = _panel()
    ax.semilogx(np.arange(1, len(shares) + 1), shares, color=BLUE)
    ax.axhline(tau, color=style.QUIET, lw=0.6, ls="--")
    _keys(ax, [(f"{tau:g} at mode {rank}", style.INK)], below=True)
    ax.plot([rank], [shares[rank - 1]], "o", color=ORANGE)
    _core(ax, rank, len(shares))
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_ylabel("energy of leading modes")
    return figure


@style.styled
def dilution(modes: pd.DataFrame, rank: int) -> Figure:
    """Draw what share of each old mode's inverse the last session takes, and its bound.

    Parameters
    ----------
    modes : rows of the last session: mode, shrink_exact, shrink_bound; rank : of the core before it
    """
    figure, ax = _panel()
    for column, color, dashes in (("shrink_bound", ORANGE, "--"), ("shrink_exact", BLUE, "-")):
        rows = modes.dropna(subset=[column])
        ax.semilogx(rows["mode"], rows[column], color=color, ls=dashes)
    _core(ax, rank, modes["mode"].max())
    ax.set_ylim(0, 1.4 * modes["shrink_bound"].max())
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_ylabel("share of the inverse")
    _keys(ax, [("bound (shared basis)", ORANGE), ("exact", BLUE)])
    return figure


@style.styled
def signals(sessions: pd.DataFrame, large: dict[str, float]) -> Figure:
    """Draw overlap and prototype cosine by session, with what the protocol calls large."""
    figure, ax = _panel()
    for column, key, color in (
        ("overlap_share", "overlap", ORANGE),
        ("prototype_cosine", "cosine", BLUE),
    ):
        ax.plot(sessions["session"], sessions[column], color=color, marker="o")
        ax.axhline(large[key], color=style.QUIET, lw=0.6, ls="--")
    ax.set_ylim(0, 1.3)
    ax.set_yticks([0, 0.5, 1])
    ax.set_ylabel("overlap, cosine")
    style.session_axis(ax, sessions["session"])
    _keys(ax, [("overlap with the core", ORANGE), ("cosine of prototypes", BLUE)])
    return figure


@style.styled
def drift(sessions: pd.DataFrame) -> Figure:
    """Draw how far old logits move: of the joint ridge along the core and beside it, and the learner's own."""
    figure, ax = _panel()
    names = {
        "joint_drift_core": ("joint ridge, in the core", ORANGE, "-"),
        "joint_drift_residual": ("joint ridge, beside it", BLUE, "--"),
        "own_drift": ("this learner", GREEN, "-."),
    }
    drawn = {column: look for column, look in names.items() if column in sessions}
    later = sessions.dropna(subset=["joint_drift_core"])
    for column, (_, color, dashes) in drawn.items():
        ax.plot(later["session"], later[column], color=color, ls=dashes, marker="o")
    ax.set_ylim(0, 1.5 * max(float(later[list(drawn)].max().max()), 1e-9))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_ylabel("shift of old logits")
    style.session_axis(ax, later["session"])
    _keys(ax, [(name, color) for name, color, _ in drawn.values()])
    return figure


@style.styled
def cosines(prototypes: np.ndarray) -> Figure:
    """Draw the cosine between each two prototypes, the columns of (D, c)."""
    norm = np.linalg.norm(prototypes, axis=0)
    unit = prototypes / np.where(norm > 0, norm, 1)
    figure, ax = _panel()
    c = unit.shape[1]
    image = ax.imshow(
        unit.T @ unit, cmap="cividis", vmin=0, vmax=1, extent=(0.5, c + 0.5, c + 0.5, 0.5)
    )
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.set_xlabel("class")
    ax.set_ylabel("class")
    bar = figure.colorbar(image, ax=ax, shrink=0.9)
    bar.set_label("cosine")
    bar.outline.set_visible(False)
    return figure


def _panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, figure.subplots()


def _core(ax: Axes, rank: int, modes: int) -> None:
    """Shade the core, and number modes as 1, 10, 100, 1000."""
    ax.axvspan(0.8, rank, color=CORE, lw=0, zorder=0)
    ax.set_xlim(0.8, max(modes, 2))
    ax.set_xlabel("mode")
    ax.xaxis.set_major_locator(LogLocator())
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.xaxis.set_minor_locator(NullLocator())


def _keys(ax: Axes, names: list[tuple[str, str]], below: bool = False) -> None:
    """Name curves in their colours at the right of a panel, above or below all."""
    for i, (name, color) in enumerate(names):
        ax.text(
            0.98,
            0.03 if below else 0.98 - 0.095 * i,
            name,
            color=style.ink(color),
            fontsize=style.LABEL_SIZE,
            transform=ax.transAxes,
            ha="right",
            va="bottom" if below else "top",
        )
