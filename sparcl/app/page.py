"""One page in HTML, complete in itself, about what was inspected."""

from collections.abc import Sequence
from html import escape

from sparcl.app import plots
from sparcl.app.chart import conclusion, facts, legend, protocol, table
from sparcl.app.inspecting import Inspection
from sparcl.base.terminal import printable

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 0 auto;
  padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin-top: 2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { color: #595959 } dd { margin: 0 }
.advice { border-left: 4px solid #d55e00; background: #faf0e6; padding: .1rem 1rem }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem }
figure { margin: 0 } svg { width: 100%; height: auto; display: block } svg text { font-family: inherit !important }
figcaption { font-size: .875rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
"""


def html(found: Inspection, name: str) -> str:
    """Return the page about the file ``name``; whatever comes from the file is escaped."""
    title = _text(f"{name}: {found.title}")
    parts = [f"<h1>{title}</h1>", _list([fact for fact in facts(found) if fact[0] != "classes"])]
    parts += [f"<p>{_text(lack)}</p>" for lack in found.lacks]
    parts += [
        f'<h2>{_text(protocol(found))}</h2><div class="advice">{_list(conclusion(found))}</div>'
    ]
    figures = [
        f"<figure>{svg}<figcaption>{_text(caption)}</figcaption></figure>"
        for svg, caption in plots.drawn(found)
    ]
    if figures:
        parts.append(f'<h2>Plots</h2><div class="plots">{"".join(figures)}</div>')
    if len(found.sessions) > 1:
        parts.append(f"<h2>Sessions</h2><p>{_text(legend(found))}</p>{_table(table(found))}")
    names, counts = found.class_names, found.counts
    samples = [""] * len(names) if counts is None else [f"{count:g}" for count in counts]
    classes = _table([("class", "samples"), *zip(names, samples, strict=True)])
    parts.append(
        f"<h2>Classes</h2><details><summary>{len(names)} classes</summary>{classes}</details>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _list(lines: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{_text(n)}</dt><dd>{_text(v)}</dd>' for n, v in lines)}</dl>"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is its head."""
    cells = [[_text(cell) for cell in row] for row in rows]
    head, *body = (
        "".join(f"<{t}>{c}</{t}>" for c in r)
        for t, r in zip(["th"] + ["td"] * len(cells), cells, strict=False)
    )
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(f"<tr>{r}</tr>" for r in body)}</table></div>'
