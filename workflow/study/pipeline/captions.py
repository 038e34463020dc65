r"""Captions of figures for LaTeX: ``python -m study.pipeline.captions`` writes ``paper/captions.tex``.

``config/figures.yaml`` holds each caption once. The report in HTML and the pages take it from there;
``paper/report.tex`` reads the file that this module writes. A test compares.
"""

import sys
from pathlib import Path

from sparcl.base.files import write_text
from study.pipeline.configuration import load
from study.pipeline.displays import Settings, caption, findings, on_pages
from study.report.letters import escape

HEAD = "% Written by `python -m study.pipeline.captions` from config/figures.yaml.\n"


def latex(config: Settings) -> str:
    r"""Return a macro for each figure of each suite: ``\csname caption:bundled:drift\endcsname``."""
    drawn = [(suite, name) for suite in config["suites"] for name in on_pages(config, suite)]
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


def main() -> int:
    """Write the file."""
    write_text(Path("paper/captions.tex"), latex(load(Path())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
