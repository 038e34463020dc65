"""docs/adding.md, followed to the letter in a copy of the repository."""

import shutil
from pathlib import Path

import pytest
import walkthrough
from copies import ROOT, copy_project

METHOD = """\
# A method

1. Write it:

   <!-- file: sparcl/methods/half_mean.py -->
   ```python
   \"\"\"Nearest class mean under another name.\"\"\"

   from sparcl.methods.ncm import NearestClassMean


   def build() -> NearestClassMean:
       \"\"\"Return a new learner.\"\"\"
       return NearestClassMean()
   ```

2. Name it:

<!-- append: config/methods.yaml -->
```yaml
half-mean:
  label: Half mean
  learner: half-mean
  hyper: {}
```

<!-- file: config/suites/half.yaml -->
```yaml
datasets: [cub-50]
backbones: [efficientnet-lite0]
methods: [half-mean]
sessions: 5
base_classes: 0
normalize: true
pairs: [[1993, 0]]
```

<!-- skip: what the plan shows -->
```
rule run_stream: half-mean
```

<!-- run -->
```sh
python -c 'from sparcl import methods; print(methods.build("half-mean"))'
snakemake --dry-run --cores 1 --config suite=half > plan.txt
grep -q 'method=half-mean' plan.txt
```
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a copy of the repository with its tests."""
    folder = copy_project(tmp_path / "repository")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
    return folder


def test_the_page_on_adding_something(repository: Path) -> None:
    walkthrough.follow(ROOT / "docs/adding.md", repository)


def test_a_method_and_a_suite_added_by_a_page(repository: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(METHOD, encoding="utf-8")
    walkthrough.follow(page, repository)
    code = (repository / "sparcl/methods/half_mean.py").read_text(encoding="utf-8")
    assert code.startswith('"""Nearest') and "\n    return NearestClassMean()\n" in code


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Text\n\n```sh\ntrue\n```\n", "page.md:3: the line before"),
        ("<!-- run -->\n", "not followed by a code block"),
        ("<!-- file: kept -->\n```\nnew\n```\n", "kept exists already"),
        ("<!-- append: absent -->\n```\nnew\n```\n", "there is no absent"),
        ("<!-- append: ../page.md -->\n```\nnew\n```\n", "outside the repository"),
        ("<!-- append: linked -->\n```\nnew\n```\n", "outside the repository"),
        ("<!-- skip -->\n```\nnew\n```\n", "is incomplete"),
        ("<!-- run -->\n```sh\necho why\nfalse\necho on\n```\n", "status 1(.|\n)*\nwhy\n$"),
    ],
)
def test_a_step_that_cannot_be_followed_is_refused(tmp_path: Path, text: str, message: str) -> None:
    folder, page = tmp_path / "copy", tmp_path / "page.md"
    folder.mkdir()
    (folder / "kept").write_text("old", encoding="utf-8")
    (folder / "linked").symlink_to(page)
    page.write_text(text, encoding="utf-8")
    with pytest.raises(walkthrough.PageError, match=message):
        walkthrough.follow(page, folder)
    assert (folder / "kept").read_text(encoding="utf-8") == "old"
    assert page.read_text(encoding="utf-8") == text
