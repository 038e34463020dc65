"""An inspection as text of a given width: facts, a chart of the spectrum, and the protocol's numbers."""

import textwrap

import numpy as np

from sparcl.app.inspecting import LARGE, Inspection
from sparcl.base.errors import listed
from sparcl.base.terminal import printable
from sparcl.protocol.diagnostics import NULL, log_spaced_modes

NARROWEST = 40
INDENT = 12
MODES = 14  # lines of the chart
LETTERS = "█░"  # a bar in the core and beside it; "#." where the terminal has no such letters
# Column of a session's row, its name, and how a number is shown.
COLUMNS = {
    "session": ("session", "{}"),
    "overlap_share": ("overlap", "{:.2f}"),
    "prototype_cosine": ("cosine", "{:.2f}"),
    "joint_drift_core": ("core", "{:.1%}"),
    "joint_drift_residual": ("rest", "{:.1%}"),
    "own_drift": ("own", "{:.1%}"),
    "kappa": ("kappa", "{:.3g}"),
}
# The advice of the protocol, by whether overlap and drift are large, and whether the cosine is.
MOVED = {
    (True, True): "sessions take the core, and move old logits along it",
    (True, False): "sessions take the core, but leave old logits where they were",
    (False, True): "old logits move, but sessions hardly take the core",
    (False, False): "sessions hardly take the core, and leave old logits where they were",
}
CLOSE = {True: "prototypes are close", False: "prototypes are apart"}
REMEDY = {
    "partition": "spectral partition (sparcl)",
    "decorrelation": "sparse decorrelation (flycl)",
    "both": "spectral partition and sparse decorrelation",
    "neither": "neither spectral partition nor sparse decorrelation",
}


def blocks(encoding: str | None) -> bool:
    """Return whether a terminal's encoding has block elements."""
    try:
        return bool(LETTERS.encode(encoding or "ascii"))
    except (UnicodeEncodeError, LookupError):
        return False


def lines(found: Inspection, width: int, letters: bool) -> list[str]:
    """Return an inspection as lines of at most ``width`` columns; ``letters`` allows block elements.

    A terminal of fewer than :data:`NARROWEST` columns breaks lines itself.
    """
    width = max(width, NARROWEST)
    said = textwrap.wrap(printable(found.title), width)
    for name, value in facts(found):
        said += _wrapped(name, value, width, 4 if name == "classes" else None)
    for lack in found.lacks:
        said += textwrap.wrap(printable(lack), width)
    if len(found.values):
        said += ["", *_spectrum(found, width, LETTERS if letters else "#.")]
    said += ["", *textwrap.wrap(protocol(found), width)]
    if len(found.sessions) > 1:
        said += ["".join(f"{cell or '-':>9}" for cell in row)[2:] for row in table(found)]
        said += textwrap.wrap(legend(found), width)
    for name, value in conclusion(found):
        said += _wrapped(name, value, width)
    return said


def _wrapped(name: str, value: str, width: int, most: int | None = None) -> list[str]:
    """Return a name and its text in lines beside it, at most so many."""
    wrapped = textwrap.wrap(
        printable(value), width - INDENT, max_lines=most, placeholder=" ...", break_on_hyphens=False
    )
    return [f"{'' if i else name:<{INDENT}}{line}" for i, line in enumerate(wrapped)]


def facts(found: Inspection) -> list[tuple[str, str]]:
    """Return lines (name, text) about what was found, the learner's own core and the protocol's among them."""
    lines, report = list(found.facts), found.report
    if found.counts is not None:
        least, most = f"{np.min(found.counts):g}", f"{np.max(found.counts):g}"
        each = f"{least} a class" if least == most else f"{least} to {most} a class"
        lines.append(("samples", f"{np.sum(found.counts):g}, {each}"))
    lines.append(("classes", listed(found.class_names, len(found.class_names))))
    if found.sums is not None:
        rank = int(np.sum(found.values > NULL * found.values[0]))
        trace = float(np.maximum(found.values, 0).sum())
        lines.append(("R", f"{found.sums.D} x {found.sums.D}, rank {rank}, trace {trace:.6g}"))
    if report.get("k") is not None and report.get("energy") is not None:
        tau = "" if report.get("tau") is None else f"tau {report['tau']:g}, "
        own = f"{tau}rank {report['k']}, {report['energy']:.1%} of the energy when it was cut"
        lines.append(("own core", own))
    if found.k:
        share = found.energy[found.k - 1]
        core = f"tau {found.tau:g}: rank {found.k} holds {share:.1%} of the trace"
        lines.append(("core", core))
    return lines


def _spectrum(found: Inspection, width: int, letters: str) -> list[str]:
    """Return one line per mode: its eigenvalue, on a logarithmic scale where there is room, and the energy so far."""
    values, energy = found.values, found.energy
    room = width - 27
    two = room >= 34
    bar = min((room - 2) // 2 if two else room, 40)
    live = values[values > NULL * values[0]]
    heights = 1 - np.log(live / live[0]) / (np.log(live[-1] / live[0]) or -1.0)
    log = f"{'log scale':<{bar}}  " if two else ""
    lines = [f"{'mode':>5}  {'eigenvalue':>10}  {log}{'energy':>6}"]
    for mode in sorted({*log_spaced_modes(len(values), MODES).tolist(), found.k}):
        alive, sign = mode <= len(live), letters[mode > found.k]
        line = f"{mode:>5}  {values[mode - 1] if alive else 0:>10.3g}  "
        if two:
            line += f"{sign * max(1, round(bar * heights[mode - 1])) if alive else '':<{bar}}  "
        lines.append(f"{line}{energy[mode - 1]:>6.1%}  {sign * round(bar * energy[mode - 1])}")
    return [*lines, f"{letters[0]} in the core of tau {found.tau:g}, {letters[1]} beside it"]


def protocol(found: Inspection) -> str:
    """Return what the protocol is run at."""
    return f"Diagnostic protocol of the paper, at ridge {found.ridge:g} and tau {found.tau:g}"


def table(found: Inspection) -> list[list[str]]:
    """Return the sessions' numbers as cells, after their names; a cell is empty where a session has no such number."""
    shown = {
        key: column for key, column in COLUMNS.items() if any(key in r for r in found.sessions)
    }
    return [[name for name, _ in shown.values()]] + [
        [
            form.format(row[key]) if row.get(key) is not None else ""
            for key, (_, form) in shown.items()
        ]
        for row in found.sessions
    ]


def legend(found: Inspection) -> str:
    """Return what the columns of the sessions are."""
    own = " own: how far this learner's own old scores move, in the same unit."
    return (
        "overlap: share of the session's energy on the core of those before. cosine: mean between prototypes. core, "
        "rest: how far the joint ridge's old logits move along the core and beside it, in percent of their root mean "
        f"square.{own if any('own_drift' in row for row in found.sessions) else ''} kappa: as in the paper."
    )


def conclusion(found: Inspection) -> list[tuple[str, str]]:
    """Return lines (name, text): the protocol's three numbers and its advice, or what it would need."""
    if found.advice:
        overlap, drift, close = (found.advice[name] for name in ("overlap", "drift", "cosine"))
        large = {name: found.advice[name] >= LARGE[name] for name in LARGE}
        said = f"{MOVED[large['overlap'], large['drift']]}; {CLOSE[large['cosine']]}"
        advice = found.advice["advice"]
        lines = [
            ("overlap", f"{overlap:.2f} of a session's energy on the core"),
            ("cosine", f"{close:.2f} between prototypes"),
            ("drift", f"{drift:.1%} of old logits along the core"),
            ("advice", f"{advice}: {said}. It calls for {REMEDY[advice]}"),
        ]
    else:
        close = found.cosine
        lines = [] if close is None else [("cosine", f"{close:.2f} between prototypes")]
        need = (
            "none: the sums of all sessions are one total, in which no session comes after another. "
            "Name saves after earlier sessions by --since; of sums give a class order (--order, --sessions)."
        )
        lines.append(("advice", "none without R" if found.sums is None else need))
    bounds = {name: f" (large: {LARGE[name]:g})" for name in LARGE}
    bounds["drift"] = f" (large: {LARGE['drift']:.0%})"
    return [(name, said + bounds.get(name, "")) for name, said in lines]
