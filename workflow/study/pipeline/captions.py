r"""The captions of figures where text is read: ``python -m study.pipeline.captions`` renews them.

``config/figures.yaml`` holds each once. The report in HTML takes it from there; this module writes
``paper/captions.tex``, which ``paper/report.tex`` reads, and the README's text for each image. A test compares both.
"""

import re
import sys
from pathlib import Path

from sparcl.base.files import write_text
from study.pipeline.configuration import load
from study.pipeline.displays import Settings, caption, findings
from study.report.letters import escape

IMAGE = re.compile(r"!\[[^\]]*\]\((paper/([a-z0-9-]+)/figures/([a-z0-9-]+)\.png)\)")
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


def readme(config: Settings, page: str) -> str:
    """Return a page in which each image of a figure is described by its caption."""

    def described(match: re.Match[str]) -> str:
        text = caption(config, match[3], match[2]).replace("[", "(").replace("]", ")")
        return f"![{text}]({match[1]})"

    return IMAGE.sub(described, page)


def main() -> int:
    """Write both."""
    config = load(Path())
    write_text(Path("paper/captions.tex"), latex(config))
    page = Path("README.md")
    write_text(page, readme(config, page.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
