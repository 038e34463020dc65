"""Gather the pages of the documentation site: ``python docs/site/gather.py FOLDER``, which `make docs` calls.

Pages and what they link to are copied under their own paths, so that one link serves GitHub and the site. Written here
are the gallery and the list of tables, from the settings and the files in paper/, and the reference, one page per
folder of the package.
"""

import ast
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from study.pipeline.configuration import load
from study.pipeline.displays import PARTS, Settings, caption, drawings, part

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"<!--.*?-->[ \n]?", re.DOTALL)
FENCE = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
START = ["README.md", "CHANGELOG.md", "LICENSE"]
"""Files beside those of docs/ that the site begins with."""
USERS = ("sparcl.build", "sparcl.load", "sparcl.Classifier")
GRID = '<div class="gallery" markdown="1">'
FEWER = "---\nsearch: {boost: 0.2}\n---\n"
LEARNERS = "What `sparcl.build` returns is a [`Learner`][sparcl.learners.learner.Learner].\n"


def gather(folder: Path) -> None:
    """Write all pages, and what they link to, into a new folder."""
    config = load(ROOT)
    pages = {Path(name) for name in START} | {p.relative_to(ROOT) for p in ROOT.glob("docs/*.md")}
    written = {
        Path("docs/gallery.md"): gallery(config),
        Path("docs/tables.md"): tables(config),
        **reference(),
    }
    todo, done = sorted(pages), set[Path]()
    for page, text in written.items():
        todo += _place(folder, page, text)
    while todo:
        path = todo.pop()
        if path in done or path in written:
            continue
        done.add(path)
        if path.suffix == ".md":
            text = (ROOT / path).read_text(encoding="utf-8")
            todo += _place(folder, path, _heading(config, path) + text)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copyfile(ROOT / "docs/site" / name, folder / name)


def _heading(config: Settings, path: Path) -> str:
    """Return the heading of a table's page, which has none of its own."""
    if not path.match("paper/*/tables/*.md"):
        return ""
    suite = path.parts[1]
    return f"# {config['suites'][suite]['title']}\n\nTable {path.stem} of suite {suite}.\n\n"


def shown(config: Settings, kind: str) -> dict[str, dict[str, list[Path]]]:
    """Return the figures or tables (``kind``) that lie in paper/, by part and suite."""
    found: dict[str, dict[str, list[Path]]] = {name: {} for name in PARTS}
    for suite, block in config["suites"].items():
        files = [ROOT / f"paper/{suite}/tables/{name}.md" for name in block["tables"]]
        if kind == "figures":
            files = [*drawings(config, suite, ROOT).values()]
        if files := [file.relative_to(ROOT) for file in files if file.is_file()]:
            found[part(block)][suite] = files
    return {name: suites for name, suites in found.items() if suites}


def _place(folder: Path, path: Path, text: str) -> list[Path]:
    """Write one page and return the files that it links to."""
    text, linked = prepared(path, text)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")
    return linked


def prepared(path: Path, text: str) -> tuple[str, list[Path]]:
    """Return a page without comments and with folded parts that Markdown reads, and the files that it links to.

    What a folder of the repository is called stays, without a link.
    """
    linked: list[Path] = []

    def kept(match: re.Match[str]) -> str:
        mark, label, target, anchor = match.groups(default="")
        if not target or ":" in target:
            return match[0]
        file = Path(os.path.normpath(path.parent / target))
        if (ROOT / file).is_dir():
            return label
        if (ROOT / file).is_file():
            linked.append(file)
        shown = f"{mark}[{label}]({target}{anchor})"
        return f"[{shown}]({target})" if mark else shown  # a figure leads to itself, in full size

    parts = FENCE.split(text)
    for i in range(0, len(parts), 2):
        part = LINK.sub(kept, COMMENT.sub("", parts[i]))
        parts[i] = part.replace("<details>", '<details markdown="1">')
    return "".join(parts), linked


def gallery(config: Settings) -> str:
    """Return the page of all figures, a grid for each part: title, caption, file, what draws it and the command."""
    lines = [
        "# Gallery",
        "",
        "Every figure, with its file and the command that draws it again. A click shows it in full size.",
        "",
    ]
    for name, suites in shown(config, "figures").items():
        lines += [f"## {name}", "", GRID, ""]
        for suite, files in suites.items():
            for file in files:
                title = config["suites"][suite]["title"]
                found = config["figures"][file.stem].get("finding", {"suites": ()})
                title = found["says"] if suite in found["suites"] else title
                lines.append(_drawn(title, file, caption(config, file.stem, suite)))
        lines += ["</div>", ""]
    lines += ["## All suites", "", GRID, ""]
    claims = str(config["figures"]["claims"]["caption"])
    lines.append(_drawn("Which claims of the paper hold?", Path("paper/claims/claims.svg"), claims))
    lines += ["</div>", "", "## Time and memory", "", GRID, ""]
    page = (ROOT / "docs/scaling.md").read_text(encoding="utf-8")
    for text, file in re.findall(r"!\[(.*?)\]\((scaling/.*?\.png)\)", page):
        told = f"[Measured](scaling.md). `docs/{file}`, by `benchmarks/scaling.py`"
        draws = "python benchmarks/scaling.py --draw --out docs/scaling"
        title, _, rest = text.partition(". ")
        lines.append(_card(title, file, rest, told, draws))
    return "\n".join([*lines, "</div>", ""])


def _drawn(title: str, file: Path, text: str) -> str:
    told = f"`{file}`, by `figures/{file.stem.replace('-', '_')}.py`"
    return _card(title, f"../{file}", text, told, f"snakemake --cores 2 {file}")


def _card(title: str, file: str, text: str, told: str, draws: str) -> str:
    """Return a figure in a grid: its finding or question above it, all else folded below."""
    plain = text.replace("[", "(").replace("]", ")").replace("\n", " ")
    return f"""<div markdown="1">

**{title}** <small>{Path(file).stem}</small>

![{Path(file).stem}]({file})

<details><summary>Caption and command</summary>

{plain}

{told}:

```sh
{draws}
```

</details>

</div>
"""


def tables(config: Settings) -> str:
    """Return the page that lists all tables by part and suite."""
    lines = [
        "# Tables",
        "",
        "Every table that a suite writes; beside each lie a CSV and a LaTeX file of the same name.",
        "",
    ]
    for name, suites in shown(config, "tables").items():
        lines += [f"## {name}", ""]
        for suite, files in suites.items():
            links = ", ".join(f"[{file.stem}](../{file})" for file in files)
            lines.append(f"- {config['suites'][suite]['title']} (`{suite}`): {links}")
        lines.append("")
    return "\n".join([*lines, "## All suites", "", "- [Claims](../paper/claims/claims.md)", ""])


def reference() -> dict[Path, str]:
    """Return the pages of the reference: one for users, one per folder of the package."""
    pages = {Path("api/index.md"): _described("What a user calls", USERS) + LEARNERS}
    for room in sorted(p for p in (ROOT / "sparcl").iterdir() if (p / "__init__.py").is_file()):
        modules = [_module(file) for file in sorted(room.rglob("*.py"))]
        pages[Path(f"api/{room.name}.md")] = _described(f"sparcl.{room.name}", sorted(modules))
    return pages


def _module(file: Path) -> str:
    """Return a module's name; names that it passes on from elsewhere are described there."""
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    code = ast.parse(file.read_text(encoding="utf-8")).body
    own = [part.name for part in code if isinstance(part, ast.FunctionDef | ast.ClassDef)]
    passes = any(ast.unparse(part).startswith("__all__") for part in code)
    return f"{name}\n    options: {{members: [{', '.join(own)}]}}" if passes else name


def _described(title: str, names: Sequence[str]) -> str:
    """Return a page of the reference, which a search shows after the others."""
    return "\n".join([FEWER, f"# {title}", "", *(f"::: {name}\n" for name in names)])


if __name__ == "__main__":
    (target,) = map(Path, sys.argv[1:])
    shutil.rmtree(target, ignore_errors=True)
    gather(target)
