"""One page in HTML, complete in itself, about what was inspected."""

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sparcl.app.chart import COLUMNS, conclusion, facts, legend, printable
from sparcl.app.inspecting import LARGE, Inspection
from sparcl.base.errors import InputError
from sparcl.base.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 0 auto;
  padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin-top: 2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { color: #595959 } dd { margin: 0 }
.advice { border-left: 4px solid #d55e00; background: #faf0e6; padding: .1rem 1rem }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem }
figure { margin: 0 } svg { width: 100%; height: auto; display: block } figcaption { font-size: .875rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { padding-left: 0 } .names td:first-child, .names th:first-child { text-align: left }
"""


def write(path: Path, inspection: Inspection, name: str) -> None:
    """Write the page about the file ``name``, whole or not at all.

    Raises
    ------
    InputError
        Without matplotlib and pandas, which the extra ``plots`` brings.
    """
    content = html(inspection, name)
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def html(inspection: Inspection, name: str) -> str:
    """Return the page; whatever comes from the file is escaped."""
    found = inspection.found
    title = f"{name}: {found.title}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        _list([fact for fact in facts(inspection) if fact[0] != "classes"]),
    ]
    parts += [f"<p>{_text(lack)}</p>" for lack in found.lacks]
    setting = f"at ridge {inspection.ridge:g} and tau {inspection.tau:g}"
    parts.append(f"<h2>The paper's diagnostic protocol, {setting}</h2>")
    parts.append(f'<div class="advice">{_list(conclusion(inspection))}</div>')
    plots = _plots(inspection)
    if plots:
        parts.append(f'<h2>Plots</h2><div class="plots">{"".join(plots)}</div>')
    if len(inspection.sessions) > 1:
        parts.append(f"<h2>Sessions</h2><p>{_text(legend(inspection))}</p>{_sessions(inspection)}")
    parts.append(_classes(inspection))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _list(lines: list[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{_text(n)}</dt><dd>{_text(v)}</dd>' for n, v in lines)}</dl>"


def _sessions(inspection: Inspection) -> str:
    rows = inspection.sessions
    shown = [column for column in COLUMNS if any(column[0] in row for row in rows)]
    head = "<th>session</th>" + "".join(f"<th>{name}</th>" for _, name, _ in shown)
    body = ""
    for row in rows:
        cells = [form.format(row[k]) if row.get(k) is not None else "" for k, _, form in shown]
        body += f"<tr><td>{row['session']}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _classes(inspection: Inspection) -> str:
    found = inspection.found
    counts = [""] * len(found.class_names)
    if found.counts is not None:
        counts = [f"{count:g}" for count in found.counts]
    body = "".join(
        f"<tr><td>{_text(name)}</td><td>{count}</td></tr>"
        for name, count in zip(found.class_names, counts, strict=True)
    )
    return (
        f"<h2>Classes</h2><details><summary>{len(found.class_names)} classes</summary>"
        f'<div class="wide"><table class="names"><tr><th>class</th><th>samples</th></tr>{body}</table></div></details>'
    )


def _plots(inspection: Inspection) -> list[str]:
    """Return figures with captions, as far as sums allow."""
    try:
        import pandas as pd

        from figures import inspection as panels
    except ModuleNotFoundError as error:
        raise InputError(
            f"--html draws with {error.name}, which is not installed: pip install 'sparcl[plots]'."
        ) from error
    found, k = inspection.found, inspection.k
    drawn: list[tuple[Figure, str]] = []
    sessions = pd.DataFrame(inspection.sessions)
    modes = pd.DataFrame(inspection.modes)
    if len(inspection.values):
        drawn.append(
            (
                panels.spectrum(modes, k),
                "Spectrum: eigenvalues of R by mode. Shaded: the core, which holds the share tau of the trace.",
            )
        )
        drawn.append(
            (
                panels.energy(inspection.energy, k, inspection.tau),
                "Energy: share of the trace that the leading modes hold together.",
            )
        )
    if len(sessions) > 1:
        rank = int(sessions["core_rank"].iloc[-1])
        last = modes[modes["session"] == modes["session"].max()]
        drawn.append(
            (
                panels.dilution(last, rank),
                "Dilution: what share of the inverse along each old eigenvector the last session takes.",
            )
        )
        drawn.append(
            (
                panels.signals(sessions, LARGE),
                "Overlap of each session with the core before it, and mean cosine between prototypes. Dashed: what "
                "the protocol's advice takes as large.",
            )
        )
        drawn.append(
            (
                panels.drift(sessions),
                "Drift: root mean square shift of old logits on old training samples, in percent of their root mean "
                "square.",
            )
        )
    if found.prototypes is not None and found.prototypes.shape[1] > 1:
        drawn.append(
            (
                panels.cosines(found.prototypes),
                "Prototypes: cosine between the mean rows of each two classes.",
            )
        )
    return [
        f"<figure>{_svg(figure, i)}<figcaption>{_text(caption)}</figcaption></figure>"
        for i, (figure, caption) in enumerate(drawn)
    ]


def _svg(figure: "Figure", number: int) -> str:
    """Return a figure as SVG whose ids no other figure of the page has; equal figures give equal text."""
    import matplotlib

    from figures import style

    buffer = io.StringIO()
    with style.settings():
        matplotlib.rcParams["svg.hashsalt"] = "sparcl"  # ids that do not differ from run to run
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>plot{number}-", text)
