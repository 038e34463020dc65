"""report.html: opens on the findings, takes every text as text, and works in a browser without a network."""

import copy
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import WIDTHS, chromium, requested, resize
from copies import ROOT, loaded
from markupsafe import escape
from selenium import webdriver
from selenium.webdriver.common.by import By

from figures.markup import markdown
from sparcl.base.errors import InputError
from study.pipeline import page
from study.pipeline.displays import PARTS

CONFIG = loaded()
ATTACK = "<script>document.title = 'run'</script>"
# The first table of a suite, its rows without titles, and one column of those that are seen.
ROWS = """return [...document.querySelector('#bundled-table-main table').tBodies[0].rows]
  .filter((row) => !row.hidden && row.className !== 'group').map((row) => row.cells[arguments[0]].innerText)"""


@pytest.fixture(scope="module")
def html() -> str:
    return page.page(CONFIG, "bundled", ROOT, day="2026-01-02")


@pytest.fixture(scope="module")
def browser(html: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "report.html").write_text(html, encoding="utf-8")
    with chromium(folder / "profile") as driver:
        driver.get((folder / "report.html").as_uri())
        yield driver


def test_it_opens_on_the_findings_of_the_readme(html: str) -> None:
    head = html[html.index("<header>") : html.index("</header>")]
    assert "<h1>SPARCL</h1>" in head and "<strong>bundled</strong>" in head
    assert "numbers recorded on 2026-01-02" in head
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = html[html.index('<section id="findings">') : html.index('<section id="part-1">')]
    said = readme[readme.index("## Three findings") : readme.index("## The method")]
    numbers = r"[+−]\d\.\d \[.*?\]"
    assert re.findall(numbers, section) == re.findall(numbers, said)
    assert section.count("<table>") == 3
    found = re.findall(r'href="#(.*?)"', section)
    assert len(found) == 3 and all(f'id="{target}"' in html for target in found)


def test_suites_stand_in_parts_under_their_questions(html: str) -> None:
    parts = re.split(r"<h2>(.*?)</h2>", html)
    suites = {
        name: re.findall(r'<section id="([a-z0-9-]+)">\s*<h3>', text)
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert [*suites] == ["Findings", *PARTS, "Claims of the paper"]
    assert suites["Main comparison"] == ["bundled"]
    assert {"matched", "official-width"} < {*suites["Peers"]}
    assert {"contaminated", "hard", "long", "long-tail"} < {*suites["Streams"]}
    assert suites["Ablations"] == ["ablation", "increments", "sweep"]
    assert suites["Trained networks"] == ["trained-cnn"]
    for suite in itertools.chain(*suites.values()):
        title = escape(CONFIG["suites"][suite]["title"])
        assert f"<h3>{title} <small>{suite}</small></h3>" in html
        assert f'<a href="#{suite}">{title}</a>' in html


def test_every_figure_and_table_of_paper_is_there_with_its_caption(html: str) -> None:
    for kind, suffix in (("table", "md"), ("figure", "pdf")):
        drawn = {
            f"{path.parts[-3]}-{kind}-{path.stem}"
            for path in (ROOT / "paper").glob(f"*/{kind}s/*.{suffix}")
            if not path.stem.endswith("-column")
        }
        assert drawn == {*re.findall(rf'id="([a-z0-9-]+-{kind}-[a-z0-9-]+)"', html)}
    assert html.count("<figcaption>") == html.count('<img src="data:image/') > 15
    # of official-width, which is not drawn again
    assert html.count('<img src="data:image/png') == 1
    assert html.count("<img ") == html.count('loading="lazy" decoding="async" width="')
    assert "the previous sessions' R" in html.replace("&#39;", "'")
    assert "C75 holds." in html
    assert len(html) < 5_000_000  # a mail takes it, and a browser opens it at once


def test_settings_are_listed_and_nothing_is_asked_for_from_elsewhere(html: str) -> None:
    for words in ("<dt>data sets</dt><dd>CIFAR-100-150, CUB-50,", "1993 (seed 0), 1994 (seed 1)"):
        assert words in html
    assert "ridge = 1.0, tau = 0.95, refresh = 2" in html
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", html)
    assert "default-src 'none'" in html


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A project that has made nothing."""
    for folder in (page.TEMPLATES, page.pages.TEMPLATES):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_a_suite_that_is_unknown_or_empty_is_refused(empty: Path) -> None:
    with pytest.raises(InputError, match="no suite nothing; there are"):
        page.page(CONFIG, "nothing", empty)
    with pytest.raises(InputError, match="make results SUITE=toy"):
        page.page(CONFIG, "toy", empty)


def test_a_script_in_labels_captions_and_tables_stays_text(empty: Path) -> None:
    """One that slips in is not run: the page names its one script by hash."""
    tables, written = empty / "paper/bundled/tables", markdown(ATTACK)
    tables.mkdir(parents=True)
    (tables / "main.md").write_text(
        f"{written}\n\n| {written} | a |\n|---|--:|\n| {written} | 1 |\n"
    )
    config = copy.deepcopy(CONFIG)
    config["methods"]["ncm"]["label"] = config["datasets"]["cub-50"]["label"] = ATTACK
    attacked = page.page(config, "bundled", empty, day=ATTACK)
    assert attacked.count("<script>") == 1 and attacked.count("&lt;script&gt;") >= 6
    slipped = attacked.replace("<main>", f"<main>{ATTACK}")
    with chromium(empty / "profile") as driver:
        for number, text in enumerate((attacked, slipped)):
            (empty / f"{number}.html").write_text(text, encoding="utf-8")
            driver.get((empty / f"{number}.html").as_uri())
            assert driver.title == "SPARCL: suite bundled"
            cell = driver.find_element(By.CSS_SELECTOR, "#bundled-table-main td")
            assert cell.text == ATTACK
        assert "Content Security Policy" in str(driver.get_log("browser"))


def test_the_page_does_not_scroll_sideways(browser: webdriver.Chrome) -> None:
    for width in WIDTHS:
        resize(browser, width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    seen = """const images = [...document.images];
      for (const image of images) image.loading = "eager";
      await Promise.all(images.map((image) => image.complete || new Promise((done) => { image.onload = done; })));
      return images.every((image) => image.naturalWidth == image.getAttribute("width"))"""
    assert browser.execute_script(seen)


def test_long_tables_are_closed_but_in_print(browser: webdriver.Chrome) -> None:
    browser.refresh()
    long = """return [...document.querySelectorAll(".item table")].map(
      (table) => [table.tBodies[0].rows.length, Boolean(table.closest("details:not([open])"))])"""
    closed = {rows > 16 for rows, closed in browser.execute_script(long) if closed}
    opened = {rows > 16 for rows, closed in browser.execute_script(long) if not closed}
    assert closed == {True} and opened == {False}
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert not any(closed for _, closed in browser.execute_script(long))


def test_colours_follow_the_system_but_in_print(browser: webdriver.Chrome) -> None:
    def background(media: str, scheme: str) -> str:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        given = {"media": media, "features": [feature]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", given)
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    white = "rgb(255, 255, 255)"
    assert background("screen", "dark") != white == background("screen", "light")
    assert background("print", "dark") == white
    hidden = "return document.querySelectorAll('.scroll[hidden]').length"
    shown = """return [...document.querySelectorAll('#bundled-table-main .scroll')]
      .every((frame) => frame.getClientRects().length > 0)"""
    assert browser.execute_script(hidden) > 20 and browser.execute_script(shown)
    assert background("", "light") == white and not browser.execute_script(shown)


def test_a_tab_shows_its_measure(browser: webdriver.Chrome) -> None:
    tabs = browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main .tabs button")
    names = ["average accuracy over sessions", "accuracy after the last session"]
    assert [tab.text for tab in tabs] == [*names, "forgetting", "old-logit drift"]

    def heads() -> list[str]:
        tables = browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main thead")
        return [table.text.split(",")[0] for table in tables if table.text]

    assert heads() == names[:1]
    browser.execute_script("arguments[0].click()", tabs[2])
    assert heads() == ["forgetting"] and tabs[2].get_attribute("aria-pressed") == "true"
    # less is better, so that the first click has the least first
    head = "#bundled-table-main .scroll:not([hidden]) th:nth-child(2) button"
    browser.execute_script("document.querySelector(arguments[0]).click()", head)
    assert browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main [aria-sort=ascending]")
    browser.execute_script("arguments[0].click()", tabs[0])


def test_a_click_sorts_each_group_best_first_then_back(browser: webdriver.Chrome) -> None:
    browser.refresh()
    names = """return [...document.querySelector('#bundled-table-main tbody').rows].map(
      (row) => row.className || parseFloat(row.cells[1].innerText))"""
    groups = "|".join(map(str, browser.execute_script(names))).split("group")[1:]
    values = [[float(value) for value in group.strip("|").split("|")] for group in groups]
    assert [len(group) for group in values] == [5, 4, 1]

    def click() -> list[list[float]]:
        head = browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main th")[1]
        browser.execute_script("arguments[0].click()", head.find_element(By.TAG_NAME, "button"))
        groups = "|".join(map(str, browser.execute_script(names))).split("group")[1:]
        return [[float(value) for value in group.strip("|").split("|")] for group in groups]

    assert click() == [sorted(group, reverse=True) for group in values] != values
    assert browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main [aria-sort=descending]")
    assert click() == [sorted(group) for group in values]
    assert click() == values


def test_the_search_keeps_rows_figures_and_claims_with_all_words(browser: webdriver.Chrome) -> None:
    field = browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    before = browser.execute_script(ROWS, 0)
    field.send_keys("paper algorithm")
    assert browser.execute_script(ROWS, 0) == ["SPARCL, Algorithm 1 as printed, paper"]
    assert browser.find_element(By.CSS_SELECTOR, "#sweep-table-sweep table").is_displayed()
    assert not browser.find_element(By.ID, "trained-cnn").is_displayed()
    assert re.fullmatch(r"\d+ rows, .*", browser.find_element(By.TAG_NAME, "output").text)
    field.clear()
    field.send_keys("refresh holds")
    seen = [item.text for item in browser.find_elements(By.CSS_SELECTOR, "#claims li") if item.text]
    assert 0 < len(seen) < 20
    assert all("refresh" in text.lower() and "holds" in text for text in seen)
    field.clear()
    field.send_keys(" ")
    assert browser.execute_script(ROWS, 0) == before
    assert not browser.find_element(By.CSS_SELECTOR, "#sweep-table-sweep table").is_displayed()


def test_no_error_and_no_request(browser: webdriver.Chrome) -> None:
    """Of everything that the tests above have done, too."""
    browser.refresh()
    assert browser.get_log("browser") == []
    assert requested(browser) == set()
