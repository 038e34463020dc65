"""What was inspected, as text of a given width: facts, a chart of the spectrum, and the protocol's numbers."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparcl.app.inspecting import ADVICE, LARGE, Inspection, cosine
from sparcl.base.errors import listed
from sparcl.protocol.diagnostics import NULL, log_spaced_modes

NARROWEST = 40
INDENT = 12
MODES = 14  # lines of the chart
LEAST = 0.02  # of the width: the bar of the smallest eigenvalue that is not zero
FULL, PALE = "█▏▎▍▌▋▊▉", "░"
PLAIN_FULL, PLAIN_PALE = "#", "."
# Column of a session's row, its name, and how a number is shown.
COLUMNS = (
    ("overlap_share", "overlap", "{:.2f}"),
    ("prototype_cosine", "cosine", "{:.2f}"),
    ("joint_drift_core", "core", "{:.1%}"),
    ("joint_drift_residual", "rest", "{:.1%}"),
    ("own_drift", "own", "{:.1%}"),
    ("kappa", "kappa", "{:.3g}"),
)


def blocks(encoding: str | None) -> bool:
    """Return whether a terminal's encoding has block elements."""
    try:
        (FULL + PALE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def text(inspection: Inspection, width: int, letters: bool) -> str:
    """Return an inspection as lines of at most ``width`` columns; ``letters`` allows block elements.

    A terminal of fewer than :data:`NARROWEST` columns breaks lines itself.
    """
    width = max(width, NARROWEST)
    parts = [_facts(inspection, width)]
    if len(inspection.values):
        parts.append(_spectrum(inspection, width, letters))
    parts.append(_protocol(inspection, width))
    return "\n\n".join("\n".join(part) for part in parts)


def _wrapped(name: str, value: str, width: int, most: int | None = None) -> list[str]:
    """Return a name and its text in lines beside it, at most so many."""
    wrapped = textwrap.wrap(
        value, width - INDENT, max_lines=most, placeholder=" ...", break_on_hyphens=False
    )
    names = [name] + [""] * len(wrapped)
    return [f"{n:<{INDENT}}{line}" for n, line in zip(names, wrapped, strict=False)]


def printable(name: str) -> str:
    """Return a name without characters that steer a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def _facts(inspection: Inspection, width: int) -> list[str]:
    lines = textwrap.wrap(printable(inspection.found.title), width)
    for name, value in facts(inspection):
        lines += _wrapped(name, printable(value), width, 4 if name == "classes" else None)
    for lack in inspection.found.lacks:
        lines += textwrap.wrap(lack, width)
    return lines


def facts(inspection: Inspection) -> list[tuple[str, str]]:
    """Return lines (name, text) about what was found."""
    found = inspection.found
    lines = list(found.facts)
    if found.counts is not None:
        least, most = f"{np.min(found.counts):g}", f"{np.max(found.counts):g}"
        each = f"{least} a class" if least == most else f"{least} to {most} a class"
        lines.append(("samples", f"{np.sum(found.counts):g}, {each}"))
    lines.append(("classes", listed(found.class_names, len(found.class_names))))
    if found.sums is not None:
        rank = int(np.sum(inspection.values > NULL * inspection.values[0]))
        trace = float(np.maximum(inspection.values, 0).sum())
        lines.append(("R", f"{found.sums.D} x {found.sums.D}, rank {rank}, trace {trace:.6g}"))
    return lines + _core(inspection)


def _core(inspection: Inspection) -> list[tuple[str, str]]:
    """Return what the learner's own core is, and the protocol's."""
    report, facts = inspection.found.report, []
    if report.get("k") is not None and report.get("energy") is not None:
        tau = "" if report.get("tau") is None else f"tau {report['tau']:g}, "
        facts.append(
            (
                "own core",
                f"{tau}rank {report['k']}, {report['energy']:.1%} of the energy when it was cut",
            )
        )
    if inspection.k:
        share = inspection.energy[inspection.k - 1]
        facts.append(
            ("core", f"tau {inspection.tau:g}: rank {inspection.k} holds {share:.1%} of the trace")
        )
    return facts


def shown_modes(inspection: Inspection) -> list[int]:
    """Return the modes of the chart: evenly spaced on a logarithmic axis, and the last of the core."""
    return sorted({*log_spaced_modes(len(inspection.values), MODES).tolist(), inspection.k})


def _spectrum(inspection: Inspection, width: int, letters: bool) -> list[str]:
    """Return a line a mode: its eigenvalue, on a logarithmic scale where there is room, and the energy so far."""
    values, energy = inspection.values, inspection.energy
    room = width - 27
    two = room >= 34
    bar = min((room - 2) // 2 if two else room, 40)
    live = values[values > NULL * values[0]]
    depth = np.log(live[-1] / live[0]) or -1.0
    head = f"{'mode':>5}  {'eigenvalue':>10}  "
    head += f"{'log scale':<{bar}}  " if two else ""
    lines = [f"{head}{'energy':>6}".rstrip()]
    for mode in shown_modes(inspection):
        alive, inside = mode <= len(live), mode <= inspection.k
        line = f"{mode:>5}  {values[mode - 1] if alive else 0:>10.3g}  "
        if two:
            height = (
                LEAST + (1 - LEAST) * (1 - np.log(values[mode - 1] / live[0]) / depth)
                if alive
                else 0
            )
            line += f"{_bar(height, bar, inside, letters):<{bar}}  "
        line += f"{energy[mode - 1]:>6.1%}  {_bar(energy[mode - 1], bar, inside, letters)}"
        lines.append(line.rstrip())
    full, pale = (FULL[0], PALE) if letters else (PLAIN_FULL, PLAIN_PALE)
    return [*lines, f"{full} in the core of tau {inspection.tau:g}, {pale} beside it"]


def _bar(share: float, width: int, full: bool, letters: bool) -> str:
    """Return a bar of a share in [0, 1] of the width, to an eighth of a column where there are letters for it."""
    eighths = round(8 * width * float(np.clip(share, 0, 1)))
    whole, rest = divmod(eighths, 8)
    if full and letters:
        return FULL[0] * whole + (FULL[rest] if rest else "")
    sign = {(True, False): PLAIN_FULL, (False, True): PALE, (False, False): PLAIN_PALE}[
        full, letters
    ]
    return sign * (whole + (rest >= 4))


def _protocol(inspection: Inspection, width: int) -> list[str]:
    """Return the numbers of the diagnostic protocol, and its advice or what it would need."""
    setting = f"Diagnostic protocol of the paper, at ridge {inspection.ridge:g} and tau {inspection.tau:g}"
    lines = textwrap.wrap(setting, width)
    if len(inspection.sessions) > 1:
        lines += _table(inspection.sessions)
        lines += textwrap.wrap(legend(inspection), width)
    for name, value in conclusion(inspection):
        lines += _wrapped(name, value, width)
    return lines


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    shown = [column for column in COLUMNS if any(column[0] in row for row in rows)]
    lines = ["session" + "".join(f"{name:>9}" for _, name, _ in shown)]
    for row in rows:
        cells = [
            form.format(row[key]) if row.get(key) is not None else "-" for key, _, form in shown
        ]
        lines.append(f"{row['session']:>7}" + "".join(f"{cell:>9}" for cell in cells))
    return lines


def legend(inspection: Inspection) -> str:
    """Return what the columns of the sessions are."""
    own = any("own_drift" in row for row in inspection.sessions)
    return (
        "overlap: share of the session's energy on the core of those before. cosine: mean between prototypes. core, "
        "rest: how far the joint ridge's old logits move along the core and beside it, in percent of their root mean "
        f"square.{' own: how far this learner`s own old scores move, in the same unit.' if own else ''} kappa: as in "
        "the paper."
    ).replace("`", "'")


def conclusion(inspection: Inspection) -> list[tuple[str, str]]:
    """Return lines (name, text): the protocol's three numbers and its advice, or what it would need."""
    found, advice = inspection.found, inspection.advice
    close = cosine(found)
    if not advice:
        lines = (
            []
            if close is None
            else [("cosine", f"{close:.2f} between prototypes (large: {LARGE['cosine']:g})")]
        )
        if found.sums is None:
            return [*lines, ("advice", "none without R")]
        need = (
            "none: the sums of all sessions are one total, in which no session comes after another. "
            "Name saves after earlier sessions by --since, or take sums of `sparcl sums` with --order and --sessions."
        )
        return [*lines, ("advice", need)]
    return [
        (
            "overlap",
            f"{advice['overlap']:.2f} of a session's energy on the core (large: {LARGE['overlap']:g})",
        ),
        ("cosine", f"{advice['cosine']:.2f} between prototypes (large: {LARGE['cosine']:g})"),
        (
            "drift",
            f"{advice['drift']:.1%} of old logits along the core (large: {LARGE['drift']:.0%})",
        ),
        ("advice", f"{advice['advice']}: {ADVICE[advice['advice']]}"),
    ]
