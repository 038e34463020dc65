"""docs/adding.md and docs/tutorial.md, followed to the letter in a copy of the repository."""

from pathlib import Path

import pytest
import walkthrough
from copies import ROOT, copy_project
from matplotlib.image import imread


# tests/workflow/test_newcomer.py goes the tutorial's way in its short form
@pytest.mark.parametrize("page", ["adding", pytest.param("tutorial", marks=pytest.mark.slow)])
def test_the_page_is_followed(page: str, tmp_path: Path) -> None:
    repository = copy_project(tmp_path / "repository")
    walkthrough.follow(ROOT / f"docs/{page}.md", repository)
    if page == "adding":
        drawn = imread(repository / "paper/mine/figures/last-accuracy.png")[..., :3]
        edges = drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1]
        assert drawn.min() < 0.5 and all((edge == 1).all() for edge in edges), "a label is cut off"


def test_a_step_that_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    folder, page = tmp_path / "copy", tmp_path / "page.md"
    folder.mkdir()
    (folder / "kept").write_text("old", encoding="utf-8")
    for text, message in (
        ("Text\n\n```sh\ntrue\n```\n", "1 blocks, 0 marks"),
        ("<!-- file: kept -->\n```\nnew\n```\n", "is kept there before"),
        ("<!-- append: ../page.md -->\n```\nnew\n```\n", "outside the folder"),
        ("<!-- run -->\n```sh\necho why\nfalse\necho on\n```\n", "status 1(.|\n)*\nwhy\n"),
    ):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(AssertionError, match=message):
            walkthrough.follow(page, folder)
        assert (folder / "kept").read_text(encoding="utf-8") == "old"
        assert page.read_text(encoding="utf-8") == text
