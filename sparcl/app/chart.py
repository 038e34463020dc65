"""An inspection as text of a given width: facts, a chart of the spectrum, and the protocol's numbers."""

import textwrap

import numpy as np

from sparcl.app.inspecting import LARGE, Inspection
from sparcl.base.errors import listed
from sparcl.base.terminal import printable
from sparcl.protocol.diagnostics import NULL, log_spaced_modes

NARROWEST = 40
WIDEST = 40  # of a bar
INDENT = 12
MODES = 14  # lines of the chart
# Column of a session's row, its name, and how a number is shown.
COLUMNS = {
    "session": ("session", "{}"),
    "overlap_share": ("overlap", "{:.2f}"),
    "prototype_cosine": ("cosine", "{:.2f}"),
    "joint_drift_core": ("core", "{:.1%}"),
    "joint_drift_residual": ("rest", "{:.1%}"),
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


def lines(found: Inspection, width: int) -> list[str]:
    """Return an inspection as lines of at most ``width`` columns.

    A terminal of fewer than :data:`NARROWEST` columns breaks lines itself.
    """
    width = max(width, NARROWEST)
    said = textwrap.wrap(printable(found.title), width)
    for name, value in _facts(found):
        said += _wrapped(name, value, width, 4 if name == "classes" else None)
    for lack in found.lacks:
        said += textwrap.wrap(printable(lack), width)
    if len(found.values):
        said += ["", *_spectrum(found, width)]
    protocol = f"Diagnostic protocol of the paper, at ridge {found.ridge:g} and tau {found.tau:g}"
    said += ["", *textwrap.wrap(protocol, width)]
    if len(found.sessions) > 1:
        said += _sessions(found, width)
    for name, value in conclusion(found):
        said += _wrapped(name, value, width)
    return said


def _wrapped(name: str, value: str, width: int, most: int | None = None) -> list[str]:
    """Return a name and its text in lines beside it, at most so many."""
    wrapped = textwrap.wrap(
        printable(value), width - INDENT, max_lines=most, placeholder=" ...", break_on_hyphens=False
    )
    return [f"{'' if i else name:<{INDENT}}{line}" for i, line in enumerate(wrapped)]


def _facts(found: Inspection) -> list[tuple[str, str]]:
    """Return lines (name, text) about what was found, the learner's own core and the protocol's among them."""
    facts, report = list(found.facts), found.report
    if found.counts is not None:
        least, most = f"{np.min(found.counts):g}", f"{np.max(found.counts):g}"
        each = f"{least} a class" if least == most else f"{least} to {most} a class"
        facts.append(("samples", f"{np.sum(found.counts):g}, {each}"))
    facts.append(("classes", listed(found.class_names, len(found.class_names))))
    if found.sums is not None:
        rank = int(np.sum(found.values > NULL * found.values[0]))
        trace = float(np.maximum(found.values, 0).sum())
        facts.append(("R", f"{found.sums.D} x {found.sums.D}, rank {rank}, trace {trace:.6g}"))
    if report.get("k") is not None and report.get("energy") is not None:
        tau = "" if report.get("tau") is None else f"tau {report['tau']:g}, "
        own = f"{tau}rank {report['k']}, {report['energy']:.1%} of the energy when it was cut"
        facts.append(("own core", own))
    if found.k:
        share = found.energy[found.k - 1]
        core = f"tau {found.tau:g}: rank {found.k} holds {share:.1%} of the trace"
        facts.append(("core", core))
    return facts


def _spectrum(found: Inspection, width: int) -> list[str]:
    """Return one line per mode: its eigenvalue, and a bar of the energy so far."""
    values = np.where(found.values > NULL * found.values[0], found.values, 0)
    longest = min(width - 27, WIDEST)
    said = [f"{'mode':>5}  {'eigenvalue':>10}  {'energy':>6}"]
    for mode in sorted({*log_spaced_modes(len(values), MODES).tolist(), found.k}):
        energy, sign = found.energy[mode - 1], "." if mode > found.k else "#"
        bar = sign * round(longest * energy)
        said.append(f"{mode:>5}  {values[mode - 1]:>10.3g}  {energy:>6.1%}  {bar}")
    return [*said, f"# in the core of tau {found.tau:g}, . beside it"]


def _sessions(found: Inspection, width: int) -> list[str]:
    """Return a table of the sessions' numbers, a dash where there is none, and what its columns are."""
    rows = found.sessions
    shown = {key: column for key, column in COLUMNS.items() if any(key in row for row in rows)}
    cells = [[name for name, _ in shown.values()]] + [
        ["-" if row.get(key) is None else form.format(row[key]) for key, (_, form) in shown.items()]
        for row in rows
    ]
    legend = (
        "overlap: share of the session's energy on the core of those before. cosine: mean between prototypes. core, "
        "rest: how far the joint ridge's old logits move along the core and beside it, in percent of their root mean "
        "square. kappa: as in the paper."
    )
    table = ["".join(f"{cell:>9}" for cell in row)[2:] for row in cells]
    return table + textwrap.wrap(legend, width)


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
