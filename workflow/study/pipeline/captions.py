r"""Captions and findings for LaTeX: ``python -m study.pipeline.captions`` writes ``paper/captions.tex``.

``config/figures.yaml`` holds each caption once, and the summaries hold the numbers. The report in HTML and the
pages take them from there; ``paper/report.tex`` reads the file that this module writes. A test compares.
"""

from collections import Counter
from pathlib import Path

from sparcl.base.files import write_text
from study.pipeline.configuration import load
from study.pipeline.displays import Settings, caption, findings, on_pages
from study.pipeline.pages import SETS, Numbers, told
from study.report.letters import escape

HEAD = "% Written by `python -m study.pipeline.captions` from config/figures.yaml and paper/matched/summary.\n"


def latex(config: Settings, root: Path) -> str:
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
    lines.append(rf"\newcommand{{\peersfinding}}{{{escape(against_peers(config, root))}}}")
    return HEAD + "\n".join(lines) + "\n"


def against_peers(config: Settings, root: Path) -> str:
    """Return the range of the differences of SPARCL+ to closed-form peers, and verdicts over the data sets."""
    block, numbers = config["figures"]["headline"], Numbers(root)
    method = f"matched/{block['of']}"
    gaps = {peer: numbers.difference(method, peer) for peer in block["show"]}
    order = sorted(gaps, key=lambda peer: gaps[peer].difference)
    least, most = (
        f"{told(gaps[peer])} points ({config['methods'][peer]['short']})"
        for peer in (order[0], order[-1])
    )
    verdicts = Counter(
        numbers.difference(method, peer, dataset).verdict for peer in gaps for dataset in SETS
    )
    return (
        f"The last accuracy of SPARCL+ exceeds that of {len(gaps)} other closed-form methods by {least} to {most}, "
        f"mean over the data sets with its 95% interval. On single data sets {verdicts['above']} of {verdicts.total()} "
        f"differences are above 0, {verdicts['below']} are below 0, and {verdicts['tie']} are not told apart from it "
        "at the 5% level after Holm's correction."
    )


if __name__ == "__main__":
    write_text("paper/captions.tex", latex(load(Path()), Path()))
