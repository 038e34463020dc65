"""What lies in git: no machine's paths, no images, nothing huge, no unexpected links."""

import re
from pathlib import Path

from copies import ROOT, in_git

MEGABYTE = 2**20

# An absolute path of somebody's machine; the interpreter line of a script is allowed.
MACHINE_PATH = re.compile(r"(?<![\w.~:/*}>)-])/(?:home|root|Users|work|tmp|mnt|srv|opt|farm)/[\w.]")
LINK = re.compile(r"https?://([\w.-]+)")
LINKED_HOSTS = {
    "arxiv.org",
    "data.caltech.edu",  # data sets, as are berkeley.edu and toronto.edu
    "creativecommons.org",
    "doi.org",
    "github.com",
    "json-schema.org",
    "mlcommons.org",  # vocabularies, as are purl.org and schema.org
    "people.eecs.berkeley.edu",
    "purl.org",
    "schema.org",
    "vega.github.io",
    "w3id.org",
    "www.apache.org",
    "www.cs.toronto.edu",
    "www.w3.org",  # namespaces of SVG
}
DRAWN = ("paper/", "docs/")


def files() -> list[Path]:
    """Return what git tracks, or would track."""
    found = in_git()
    assert ROOT / "Snakefile" in found
    return found


def texts() -> dict[str, str]:
    """Return the text files by name; what is no UTF-8 is no text."""
    found = {}
    for path in files():
        try:
            found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def test_no_path_of_a_machine() -> None:
    hits = [(name, hit) for name, text in texts().items() for hit in MACHINE_PATH.findall(text)]
    assert hits == []


def test_links_lead_to_papers_licences_and_schemas_only() -> None:
    hosts = {(name, host) for name, text in texts().items() for host in LINK.findall(text)}
    assert {(name, host) for name, host in hosts if host not in LINKED_HOSTS} == set()


def test_lines_end_with_lf() -> None:
    assert [name for name, text in texts().items() if "\r" in text] == []


def test_no_file_is_over_50_mb_and_the_whole_stays_small() -> None:
    sizes = {path.name: path.stat().st_size for path in files()}
    assert max(sizes.values()) < 50 * MEGABYTE
    assert sum(path.stat().st_size for path in files()) < 150 * MEGABYTE


def test_pictures_are_drawings() -> None:
    pictures = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tar|zip|t?gz)$", re.IGNORECASE)
    names = [path.relative_to(ROOT).as_posix() for path in files()]
    assert [name for name in names if pictures.search(name) and not name.startswith(DRAWN)] == []
