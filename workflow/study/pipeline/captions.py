r"""Captions of figures and the main table where text is read: ``python -m study.pipeline.captions`` renews them.

``config/figures.yaml`` holds each caption once. The report in HTML takes it from there; this module writes
``paper/captions.tex``, which ``paper/report.tex`` reads, and the README's text for each image and its copy of
``paper/bundled/tables/main.md``. Tests compare both.
"""

import re
import sys
from pathlib import Path

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from study.pipeline.configuration import load
from study.pipeline.displays import Settings, caption, findings
from study.report.letters import escape

IMAGE = re.compile(r"!\[[^\]]*\]\((paper/([a-z0-9-]+)/figures/([a-z0-9-]+)\.png)\)")
START, END = "<!-- paper/bundled/tables/main.md -->\n", "<!-- end -->\n"
HEAD = "% Written by `python -m study.pipeline.captions` from config/figures.yaml.\n"


def latex(config: Settings) -> str:
    r"""Return a macro for each figure of each suite: ``\csname caption:bundled:drift\endcsname``."""
    drawn = [(s, name) for s, block in config["suites"].items() for name in block["figures"]]
    texts = {f"{suite}:{name}": caption(config, name, suite) for suite, name in drawn}
    texts["claims"] = str(config["figures"]["claims"]["caption"])
    lines = [
        rf"\expandafter\def\csname caption:{key}\endcsname{{{escape(text)}}}"
        for key, text in texts.items()
    ]
    found = []
    for says, name, suites in findings(config):
        where = "; ".join(rf"Figure~\ref{{fig:{suite}:{name}}}, suite {suite}" for suite in suites)
        found.append(rf"\item {escape(says)} ({where})")
    lines += [r"\newcommand{\findings}{\begin{itemize}", *found, r"\end{itemize}}"]
    return HEAD + "\n".join(lines) + "\n"


def readme(config: Settings, page: str, table: str) -> str:
    """Return a page in which each image of a figure is described by its caption, with the table between its two marks.

    Raises
    ------
    InputError
        A mark is missing.
    """

    def described(match: re.Match[str]) -> str:
        text = caption(config, match[3], match[2]).replace("[", "(").replace("]", ")")
        return f"![{text}]({match[1]})"

    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise InputError(f"README.md: the lines {START.strip()} and {END.strip()} are missing.")
    return IMAGE.sub(described, f"{before}{START}\n{table.strip()}\n\n{END}{after}")


def main() -> int:
    """Write both."""
    config = load(Path())
    write_text(Path("paper/captions.tex"), latex(config))
    page, table = Path("README.md"), Path("paper/bundled/tables/main.md")
    texts = (path.read_text(encoding="utf-8") for path in (page, table))
    write_text(page, readme(config, *texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
