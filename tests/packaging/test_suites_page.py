"""docs/suites.md explains every key of a suite, with the defaults and choices that the code has."""

import re
from typing import get_args, get_type_hints

import yaml
from copies import ROOT

from study.pipeline.configuration import FIGURES, OPTIONAL, load
from study.pipeline.settings import Suite

PAGE = (ROOT / "docs/suites.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \|(.*?)\| (.*) \|$", PAGE, flags=re.MULTILINE)


def test_every_key_has_a_row_and_every_row_a_key() -> None:
    assert sorted(key for key, _, _ in ROWS) == sorted(Suite.model_fields)


def test_defaults_and_choices_are_those_of_the_code() -> None:
    defaults = {key: yaml.safe_load(text.strip(" `")) for key, text, _ in ROWS if text.strip()}
    defaults.pop("traces")
    assert defaults == {k: v for k, v in OPTIONAL.items() if v != {}} | {"figures": [*FIGURES]}
    text = {key: rest for key, _, rest in ROWS}
    for key in ("order_rule", "stress", "group"):
        choices = set(get_args(get_type_hints(Suite)[key])) - {"none"}
        assert choices == set(re.findall(r"`([a-z-]+)`", text[key])) - {"params"}


def test_the_smallest_suite_is_one() -> None:
    block = yaml.safe_load(PAGE.split("```yaml\n")[1].split("```")[0])
    assert set(block) == {
        *(k for k, f in Suite.model_fields.items() if f.is_required()),
        "sessions",
    }
    assert load(ROOT, {"suites": {"mine": block}})["suites"]["mine"]["figures"] == [*FIGURES]
