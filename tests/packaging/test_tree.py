"""What lies in git: no machine's paths, no images, nothing huge, no unexpected links."""

import re

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
PICTURE = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tar|zip|t?gz)$", re.IGNORECASE)
DRAWN = ("paper/", "docs/")
FILES = {path.relative_to(ROOT).as_posix(): path for path in in_git()}


def test_no_text_names_a_path_of_a_machine_or_another_host() -> None:
    """Links lead to papers, licences and schemas; lines end with a line feed."""
    texts = 0
    for name, path in FILES.items():
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue  # what is no UTF-8 is no text
        texts += 1
        assert MACHINE_PATH.findall(text) == [], name
        assert {*LINK.findall(text)} <= LINKED_HOSTS, name
        assert "\r" not in text, name
    assert "Snakefile" in FILES and texts > 500


def test_files_are_small_and_pictures_are_drawings() -> None:
    sizes = [path.stat().st_size for path in FILES.values()]
    assert max(sizes) < 50 * MEGABYTE and sum(sizes) < 150 * MEGABYTE
    assert [name for name in FILES if PICTURE.search(name) and not name.startswith(DRAWN)] == []
