"""Check the built site: ``python docs/site/check.py SITE``.

Every link of a page leads to a file and a place in it, no cross-reference is left as it was written, and nothing is
loaded from elsewhere.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

CODE = ("code", "pre", "script", "style")
RAW = re.compile(r"\]\[[\w.]*\]?|:(?:func|class|meth|mod|attr|data|exc|math):|\\[a-zA-Z]{2,}|\$$")
LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """Identifiers of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = {""}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.code = 0
        self.raw: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what one tag names."""
        self.code += tag in CODE
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        for name, value in given.items():
            if (tag, name) in LOADS and given.get("rel") not in ("canonical", "next", "prev"):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        """Leave code behind."""
        self.code -= tag in CODE

    def handle_data(self, data: str) -> None:
        """Take a reference or formula that was not resolved: ``[``, ``][``, ``$`` around code, a role, a command."""
        if not self.code:
            self.raw += RAW.findall(data)


def faults(site: Path) -> list[str]:
    """Return a line for every link that leads nowhere, raw reference, and thing that a page loads from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loads if urlsplit(url).netloc]
        found += [f"{name} has a raw reference: {text}" for text in page.raw]
        for url in {*page.links, *page.loads}:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            base = site if path.name == "404.html" else path.parent  # shown under any address
            file = (
                base / unquote(parts.path.lstrip("/") if base is site else parts.path)
            ).resolve()
            file = path.resolve() if not parts.path else file
            if not file.exists():
                found.append(f"{name} links to {url}: no such file")
            elif parts.fragment and file.suffix == ".html":
                target = pages[site / file.relative_to(site.resolve())]
                if unquote(parts.fragment) not in target.places:
                    found.append(f"{name} links to {url}: no such place")
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
