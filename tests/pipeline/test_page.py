"""report.html: opens on the findings, takes every text as text, and works in a browser without a network."""

import copy
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import WIDTHS, chromium, requested, resize
from copies import ROOT
from selenium import webdriver
from selenium.webdriver.common.by import By

from figures.markup import markdown
from sparcl.base.errors import InputError
from study.pipeline import page
from study.pipeline.configuration import load

CONFIG = load(ROOT)
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


def test_it_opens_on_name_suite_and_findings(html: str) -> None:
    head = html[html.index("<header>") : html.index("</header>")]
    assert "<h1>SPARCL</h1>" in head and "<strong>bundled</strong>" in head
    assert "numbers recorded on 2026-01-02" in head
    said = [block["finding"]["says"] for block in CONFIG["figures"].values() if "finding" in block]
    found = re.findall(r"<li>(.*?) <a href=\"#(.*?)\">", head)
    assert len(found) == 3 and {says for says, _ in found} <= {*said}
    assert all(f'<figure id="{target}">' in html for _, target in found)


def test_every_figure_and_table_of_paper_is_there_with_its_caption(html: str) -> None:
    for kind, suffix in (("table", "md"), ("figure", "png")):
        drawn = {
            f"{path.parts[-3]}-{kind}-{path.stem}"
            for path in (ROOT / "paper").glob(f"*/{kind}s/*.{suffix}")
        }
        assert drawn == {*re.findall(rf'id="([a-z0-9-]+-{kind}-[a-z0-9-]+)"', html)}
    assert html.count("<figcaption>") == html.count('<img src="data:image/png;base64,') > 15
    assert "the previous sessions' R" in html.replace("&#39;", "'")
    assert "C75 holds." in html
    assert f"<h2>{CONFIG['suites']['bundled']['title']} <small>bundled</small></h2>" in html


def test_settings_are_read_as_a_list(html: str) -> None:
    for words in ("<dt>data sets</dt><dd>CIFAR-100-150, CUB-50,", "1993 (seed 0), 1994 (seed 1)"):
        assert words in html
    assert "ridge = 1.0, tau = 0.95, refresh = 2" in html


def test_it_asks_for_nothing_from_elsewhere(html: str) -> None:
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", html)
    assert "default-src 'none'" in html


def test_a_suite_that_is_unknown_or_empty_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "workflow/report", tmp_path / "workflow/report")
    with pytest.raises(InputError, match="no suite nothing; there are"):
        page.page(CONFIG, "nothing", tmp_path)
    with pytest.raises(InputError, match="make results SUITE=toy"):
        page.page(CONFIG, "toy", tmp_path)


@pytest.fixture
def attacked(tmp_path: Path) -> str:
    """A page whose labels, captions and tables hold a script."""
    shutil.copytree(ROOT / "workflow/report", tmp_path / "workflow/report")
    tables = tmp_path / "paper/bundled/tables"
    tables.mkdir(parents=True)
    written = markdown(ATTACK)
    (tables / "main.md").write_text(
        f"{written}\n\n| {written} | a |\n|---|--:|\n| {written} | 1 |\n"
    )
    config = copy.deepcopy(CONFIG)
    config["methods"]["ncm"]["label"] = config["datasets"]["cub-50"]["label"] = ATTACK
    return page.page(config, "bundled", tmp_path, day=ATTACK)


def test_a_script_in_a_label_stays_text(attacked: str, tmp_path: Path) -> None:
    assert attacked.count("<script>") == 1 and attacked.count("&lt;script&gt;") >= 6
    (tmp_path / "report.html").write_text(attacked, encoding="utf-8")
    with chromium(tmp_path / "profile") as driver:
        driver.get((tmp_path / "report.html").as_uri())
        assert driver.title == "SPARCL: suite bundled"
        assert driver.find_element(By.CSS_SELECTOR, "#bundled-table-main td").text == ATTACK


def test_a_script_that_slips_in_is_not_run(attacked: str, tmp_path: Path) -> None:
    """The page names its one script by hash."""
    (tmp_path / "report.html").write_text(
        attacked.replace("<main>", f"<main>{ATTACK}"), encoding="utf-8"
    )
    with chromium(tmp_path / "profile") as driver:
        driver.get((tmp_path / "report.html").as_uri())
        assert driver.title == "SPARCL: suite bundled"
        assert "Content Security Policy" in str(driver.get_log("browser"))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_does_not_scroll_sideways(browser: webdriver.Chrome, width: int) -> None:
    resize(browser, width)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    seen = "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)"
    assert browser.execute_script(seen)


def test_a_column_is_sorted_up_down_and_back(browser: webdriver.Chrome) -> None:
    before = browser.execute_script(ROWS, 1)
    values = [float(re.match(r"[\d.]+", cell)[0]) for cell in before]
    assert values != sorted(values)

    def click() -> list[float]:
        head = browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main th")[1]
        head.find_element(By.TAG_NAME, "button").click()
        return [float(re.match(r"[\d.]+", cell)[0]) for cell in browser.execute_script(ROWS, 1)]

    assert click() == sorted(values)
    assert browser.find_elements(By.CSS_SELECTOR, "#bundled-table-main [aria-sort=ascending]")
    assert click() == sorted(values, reverse=True)
    assert click() == values
    assert browser.execute_script(ROWS, 1) == before


def test_a_search_keeps_the_rows_that_have_all_words(browser: webdriver.Chrome) -> None:
    field = browser.find_element(By.CSS_SELECTOR, "#bundled-table-main input")
    before = browser.execute_script(ROWS, 0)
    field.send_keys("paper algorithm")
    assert browser.execute_script(ROWS, 0) == ["SPARCL, Algorithm 1 as printed, paper"]
    browser.execute_script("arguments[0].value = ''", field)
    field.send_keys(" ")
    assert browser.execute_script(ROWS, 0) == before
    claims = browser.find_element(By.CSS_SELECTOR, "#claims input")
    claims.send_keys("refresh holds")
    seen = [item.text for item in browser.find_elements(By.CSS_SELECTOR, "#claims li") if item.text]
    assert 0 < len(seen) < 20
    assert all("refresh" in text.lower() and "holds" in text for text in seen)


def test_no_error_and_no_request(browser: webdriver.Chrome) -> None:
    """Of everything that the tests above have done, too."""
    browser.refresh()
    assert browser.get_log("browser") == []
    assert requested(browser) == set()
