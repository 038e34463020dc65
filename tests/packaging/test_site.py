"""What is gathered for the documentation site, and the check of what is built."""

import copy
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pymdownx.superfences
import pytest
import yaml
from copies import ROOT, in_git, loaded
from markdown import markdown

from study.pipeline.displays import caption


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without its functions."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
SITE = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=Loader)
FENCE = {"name": "math", "class": "math", "format": pymdownx.superfences.fence_div_format}
FENCES = {"pymdownx.superfences": {"custom_fences": [FENCE]}}


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The modules of docs/site, which is no package."""
    sys.path.insert(0, str(ROOT / "docs/site"))
    import check
    import gather

    yield gather, check
    sys.path.remove(str(ROOT / "docs/site"))


@pytest.fixture(scope="module")
def pages(made: tuple[ModuleType, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    made[0].gather(folder)
    return folder


def entries(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    for entry in nav if isinstance(nav, list) else [nav]:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from entries(below)


def test_every_page_is_there_and_reached(pages: Path) -> None:
    reached = set(entries(SITE["nav"]))
    assert [page for page in reached if not (pages / page).is_file()] == []
    own = {page.relative_to(pages).as_posix() for page in pages.glob("*/*.md")}
    assert own | {"README.md", "CHANGELOG.md"} == reached
    packages = {path.parent.name for path in (ROOT / "sparcl").glob("*/__init__.py")}
    assert {f"api/{package}.md" for package in packages} < reached


def test_every_table_page_is_in_the_navigation_and_titled_by_its_suite(
    made: tuple[ModuleType, ModuleType], pages: Path
) -> None:
    import navigation

    title = loaded()["suites"]["matched"]["title"]
    text = (pages / "paper/matched/tables/peers.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {title}\n\nTable peers of suite matched.\n\n")

    assert SITE["hooks"] == ["docs/site/navigation.py", "docs/site/formulas.py"]
    nav = navigation.on_config({"nav": copy.deepcopy(SITE["nav"])})["nav"]
    reached = [page for page in entries(nav) if page.startswith("paper/")]
    there = [page.relative_to(pages).as_posix() for page in pages.glob("paper/*/tables/*.md")]
    assert sorted(reached) == sorted(there) and len(there) > 40


def test_every_link_of_a_page_leads_to_what_was_gathered(pages: Path) -> None:
    found = 0
    for page in sorted(pages.rglob("*.md")):
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        assert "<!--" not in text, page
        for target in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", re.sub(r"`[^`\n]*`", "", text)):
            assert (page.parent / target).is_file(), (page, target)
            found += 1
    assert found > 200


def test_the_gallery_has_every_figure_with_its_caption_and_its_command(pages: Path) -> None:
    text, config = (pages / "docs/gallery.md").read_text(encoding="utf-8"), loaded()
    figures = [
        path.relative_to(ROOT).as_posix()
        for path in in_git()
        if re.search(r"/paper/(.*/figures|claims)/[\w-]+\.svg$", path.as_posix())
        and "-column" not in path.name
    ]
    assert len(figures) > 15
    for block in config["figures"].values():
        if "finding" in block:
            assert f"**{block['finding']['says']}** <small>" in text
    for file in figures:
        _, suite, *_, name = Path(file).with_suffix("").parts
        own = name == "claims"
        said = config["figures"][name]["caption"] if own else caption(config, name, suite)
        assert f"</small>\n\n[![{name}](../{file})](../{file})" in text
        assert f"snakemake --cores 2 {file}\n" in text and said in text
        drawn_by = ROOT / f"figures/{name.replace('-', '_')}.py"
        assert (pages / file).is_file() and drawn_by.is_file()
    for axis in "dKMnT":
        assert f"](scaling/{axis}.png)" in text and f"`docs/scaling/{axis}.png`" in text
        assert (pages / f"docs/scaling/{axis}.png").is_file()


def test_formulas_are_mathml(made: tuple[ModuleType, ModuleType]) -> None:
    """A command that the converter does not know would stay in the page, which the check refuses."""
    import formulas

    text = "<p>$<code>\\lambda &lt; 1</code>$ and <code>$x</code></p>"
    fence = "```math\na\n```"
    text += markdown(fence, extensions=["pymdownx.superfences"], extension_configs=FENCES)
    inline, display = formulas.on_page_content(text).split(" and <code>$x</code></p>")
    assert inline.startswith(
        '<p><math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">'
    )
    assert "<mo>&#x0003C;</mo>" in inline and "<mi>&#x003BB;</mi>" in inline
    assert display.count("<math ") == 1 and 'display="block"' in display and "div" not in display
    raw = made[1].Page(formulas.on_page_content("<p>$<code>\\unknown</code>$</p> $<b>x</b>")).raw
    assert raw == ["\\unknown", "$"]


def test_what_a_page_loses_and_keeps(made: tuple[ModuleType, ModuleType]) -> None:
    text = "of <!-- a\n  b --> 10 [folder](../paper) [page](faq.md#a) ![f](../paper/claims/claims.svg)\n"
    text += "```\n<!-- kept --> [no](link)\n```\n<details><summary>more</summary>\n"
    prepared, linked = made[0].prepared(Path("docs/page.md"), text)
    figure = "![f](../paper/claims/claims.svg)"
    assert prepared == (
        f"of 10 folder [page](faq.md#a) [{figure}](../paper/claims/claims.svg)\n"
        '```\n<!-- kept --> [no](link)\n```\n<details markdown="1"><summary>more</summary>\n'
    )
    assert linked == [Path("docs/faq.md"), Path("paper/claims/claims.svg")]


def test_the_check_finds_what_is_wrong(made: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><a href="a.html#there">a</a>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#away">2</a><a href="c.html">3</a><a href="#x">4</a>'
        '<p id="there"><script src="//elsewhere/x.js"></script><img src="no.png">'
        '<a href="//elsewhere/">5</a><p>[<code>of</code>][sparcl.of] <code>a[0][1]</code> :func:`f`</p>'
    )
    found = {fault.partition(" ")[2] for fault in made[1].faults(tmp_path)}
    assert found == {
        "links to b.html#away: no such place",
        "links to c.html: no such file",
        "links to #x: no such place",
        "links to no.png: no such file",
        "loads //elsewhere/x.js",
        "has a raw reference: ][sparcl.of]",
        "has a raw reference: :func:",
    }


def test_nothing_is_fetched() -> None:
    assert SITE["theme"]["font"] is False and SITE["strict"] is True
    own = [ROOT / "mkdocs.yml", *(ROOT / "docs/site").glob("*.*")]
    assert len(own) == 8
    for file in own:
        assert not re.search(r"https?:", file.read_text(encoding="utf-8")), file
    assert os.path.basename(SITE["extra"]["polyfills"][0]) == "iframe-worker.js"
