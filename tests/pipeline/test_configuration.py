"""The settings: what is there passes, what nobody reads is refused with its file and key."""

import copy
import re
import shutil
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml
from copies import ROOT, edit_yaml

from sparcl.base.errors import ConfigError
from sparcl.extraction.backbones import PRECISIONS
from sparcl.extraction.checkpoints import KEYMAPS
from sparcl.features.layout import KINDS
from study.images.readers import READERS
from study.pipeline import settings
from study.pipeline.configuration import load, merged, read
from study.pipeline.problems import malformed
from study.places import where
from study.streams import KINDS as STRESS
from study.streams import RATED

Settings = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of all that `load` reads."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    return tmp_path


@pytest.fixture
def config() -> Settings:
    """What the files say, nothing filled in."""
    return read(ROOT)


def at(tree: Any, path: str) -> tuple[Any, Any]:
    """Return what holds the value at ``path``, keys parted by slashes, and its key there."""
    *above, key = [int(name) if name.isdigit() else name for name in path.split("/")]
    for name in above:
        tree = tree[name]
    return tree, key


def faults_with(config: Settings, path: str, value: Any) -> list[str]:
    """Return what is malformed with the value at ``path``."""
    changed = copy.deepcopy(config)
    holder, key = at(changed, path)
    holder[key] = value
    return [*malformed(changed)]


def refused(root: Path, overrides: Settings | None = None) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(root, overrides)
    return str(error.value).splitlines()


MISSPELT = {
    "params.yaml": "selection/misspelt",
    "config/methods.yaml": "sparcl/misspelt",
    "config/datasets.yaml": "cub-50/counts/misspelt",
    "config/backbones.yaml": "efficientnet-lite0/weights/misspelt",
    "config/figures.yaml": "drift/misspelt",
    "config/tables.yaml": "published/place/misspelt",
    "config/timings.yaml": "refresh/variants/acil/misspelt",
    "config/suites/toy.yaml": "misspelt",
}


def test_a_misspelt_key_is_refused_with_its_file_place_and_line(project: Path) -> None:
    def misspell(tree: Any, place: str) -> None:
        holder, key = at(tree, place)
        holder[key] = 1

    for file, place in MISSPELT.items():
        edit_yaml(project / file, partial(misspell, place=place))
    said = refused(project)
    assert all("misspelt" in line for line in said)
    for file, place in MISSPELT.items():
        number = 1 + (project / file).read_text(encoding="utf-8").split("misspelt")[0].count("\n")
        line, *_ = [li for li in said if li.startswith(f"{file}: {place.replace('/', '.')}: ")]
        assert "known are" in line or "'misspelt' should be 'train'" in line or "'source'" in line
        assert line.endswith(f"(line {number})")


def test_every_level_is_closed() -> None:
    blocks = [*settings.Block.__subclasses__(), *settings.Composition.__subclasses__()]
    assert len(blocks) > 20
    for block in blocks:
        (fault,) = [w for _, w in settings.faults(settings.TypeAdapter(block), {"misspelt": 1})]
        assert fault.startswith("unknown key 'misspelt'; known are "), block


RANGES = {
    "suite": "Bundled", "suites/toy/sessions": 0, "suites/toy/normalize": "on", "suites/toy/methods": ["ncm", "ncm"],
    "suites/toy/pairs": [[1993]], "suites/toy/group": "others", "methods/sparcl/hyper": {"tau": [0.5]},
    "methods/flycl/hyper": {"ridges": 1.0}, "methods/acil-paper/features": "all", "selection/fit_share": 1,
    "selection/grid/alpha": ["1e-3"], "ridges/middle": [0], "validation/share": 1.0, "stress/long-tail/least": 0,
    "datasets/cub-50/crop": 1.5, "datasets/digits/shards": 0, "backbones/efficientnet-lite0/weights/sha256": "579344",
    "figures/drift/frames": ["curves"],
    "tables/main/frames": ["../runs"], "tables/main/underline": ["ACIL"], "suites/toy/traces": True,
    "suites/noisy/streams": [{}], "methods/stream-core/hyper": {"core": {"spectral": {"tau": [True]}}},
    "suites/sweep/vary/0/label": "{tau.real}", "suites/sweep/vary/0/over": {},
}  # fmt: skip


def test_values_out_of_range(config: Settings) -> None:
    """Each alone is refused, at its place."""
    assert [*malformed(config)] == []
    for path, value in RANGES.items():
        found = faults_with(config, path, value)
        assert len(found) == 1 and found[0].startswith(where(*path.split("/"))), (path, found)


# Letter Z of the search for faults: what ended in a traceback, or with the wrong reason.
LARGE = 10**400
SUITE = "config/suites/toy.yaml: "
UNUSUAL: list[tuple[Settings, str]] = [
    ({"suites": {"toy": {"sessions": 2.0}}}, f"{SUITE}sessions: 2.0 has a point, and a whole number is wanted"),
    ({"suites": {"toy": {"sessions": "5"}}}, f"{SUITE}sessions: '5' should be a valid integer"),
    ({"suites": {"toy": {"base_classes": 10.0}}}, f"{SUITE}base_classes: 10.0 has a point"),
    ({"suites": {"toy": {"base_classes": LARGE}}}, f"{SUITE}base_classes: a whole number of 4"),
    ({"suites": {"toy": {"pairs": [[1993.0, 0]]}}}, f"{SUITE}pairs.0.0: 1993.0 has a point"),
    ({"suites": {"toy": {"pairs": [[2**32, 0]]}}}, f"{SUITE}pairs.0.0: 4294967296 should be less than"),
    ({"suites": {"toy": {"pairs": [[1993, 10**30]]}}}, f"{SUITE}pairs.0.1: a whole number of 3"),
    ({"suites": [1]}, "config/suites: [1] should be settings by name"),
    ({"suites": {"a" * 300: {}}}, "is not an id"),
    ({"suite": "a" * 300}, "params.yaml: suite: 'aaa"),
    ({"suite": 2024}, "params.yaml: suite: 2024 is no text; a name is put in quotes"),
    ({"suite": float("nan")}, "params.yaml: suite: nan is no finite number; a name is put in quotes"),
    ({"methods": {"ncm": {"hyper": {"ridge": LARGE}}}}, "config/methods.yaml: ncm.hyper.ridge: a whole number of 4"),
    ({"suites": {"toy": {"sessions": 0}}}, f"{SUITE}sessions: 0 should be greater than or equal to 1 (as --config"),
    ({"suites": {"toy": {"order_file": "a.json"}}}, f"{SUITE}sessions: 'sessions' does not go with order_file"),
]  # fmt: skip


def test_what_no_settings_need_is_refused_in_one_sentence() -> None:
    for overrides, words in UNUSUAL:
        line, *more = refused(ROOT, overrides)
        assert words in line and len(line) < 400, line
        assert "as --config or --configfile has it" in line or "suites" in line.split(":")[0]
        assert all("is missing" in other for other in more), more


def test_numbers_that_yaml_takes_for_text(config: Settings) -> None:
    for text, number in {
        "1e-3": "1.0e-3", "2.5E4": "2.5e+4", "-1.0e6": "-1.0e+6", ".5e1": "0.5e+1",
    }.items():  # fmt: skip
        (found,) = faults_with(config, "methods/acil-paper/hyper/ridge", text)
        assert found.startswith(f"config/methods.yaml: acil-paper.hyper.ridge: {text!r}")
        assert f"write {number}" in found
    for text in ("newest", "e5", "1.0", "1e", "all-sessions", "E"):
        assert settings.exponent(text) == ""


def test_a_message_has_ten_lines_and_no_schema() -> None:
    wrong = {f"key-{number}": {"a": [number, 2, 3]} for number in range(30)}
    said = refused(ROOT, {"suites": {"toy": wrong | {"datasets": ["x"] * 200}}})
    assert len(said) <= 10 and all(len(line) < 600 for line in said), said


def test_yaml_that_grows_or_nests_without_end_is_refused_at_once(project: Path) -> None:
    file = project / "config/tables.yaml"
    before = file.read_text(encoding="utf-8")
    bomb = "".join(f"b{k}: &b{k} [{', '.join([f'*b{k - 1}'] * 10)}]\n" for k in range(1, 40))
    for text, words in {
        "deep: " + "[" * 900 + "]" * 900: "more than 50 levels",
        "deep: " + "[" * 20_000 + "]" * 20_000: "config/tables.yaml: ",
        f"b0: &b0 [1]\n{bomb}": "more than 100000 values",
        "a: &a [*a]": "more than 50 levels",
    }.items():
        file.write_text(f"{before}\n{text}\n", encoding="utf-8")
        (line,) = refused(project)
        assert "config/tables.yaml" in line and words in line and len(line) < 400
    nested: Any = 1
    for _ in range(900):
        nested = {"a": nested}
    (line,) = refused(ROOT, {"tables": nested})
    assert "more than 50 levels" in line


INDEX = "1.0\n--extra-index-url https://doi.org/simple"
FORMS = {
    "suite": ["toy\n", "../toy"],
    "figures/drift/module": ["../drift", "drift\n"],
    "figures/drift/frames/0": ["runs\n", "../toy/runs", "timings/../runs"],
    "figures/drift/show/0": ["ncm\n"],
    "datasets/cub-200/folder": ["..", "../CUB", "/data/CUB", "a/../../CUB", "a/..", "CUB\n", "a\\b", "C:/CUB"],
    "datasets/cub-200/archive": ["../a.tar", "/data/a.tar", "a/b.tar", "..", "a.tar\n", "C:a.tar"],
    "datasets/cub-200/url": ["file:///data/a.tar", "https://doi.org/a\n", "https://doi.org/a b"],
    "datasets/cub-200/md5": ["9" * 32 + "\n"],
    "backbones/vit-s14-focus/timm_id": ["local-dir:/data/net", "hf-hub:someone/net", "vit\n"],
    "backbones/vit-s14-focus/weights/package": ["/data/evil", "a @ file:///data/evil", "--pre", "a\n/data", "a[b]"],
    "backbones/vit-s14-focus/weights/version": ["1.*", "1.0\n", INDEX, "1.0,<2", "1.0 ; x", "v1", ""],
    "backbones/vit-s14-focus/weights/member": ["../a.pth", "/a.pth", "a/..", "a.pth\n"],
    "backbones/vit-s14-focus/weights/sha256": ["0" * 64 + "\n"],
}  # fmt: skip


def test_what_becomes_a_path_or_a_command_has_one_form(config: Settings) -> None:
    for place, values in FORMS.items():
        for value in values:
            (found,) = faults_with(config, place, value)
            assert repr(value) in found, (place, value)


SHOWN = [
    *[f"{kind}/{key}" for kind in ("methods/ncm", "datasets/cub-50") for key in ("label", "short")],
    *("backbones/vit-s14-focus/label", "figures/drift/caption", "figures/peers/groups"),
    *[f"tables/main/{key}" for key in ("caption", "blocks/0/0", "notes/0/text", "groups")],
    *[f"tables/published/{key}" for key in ("place/source", "place/place", "quoted", "quoted_as")],
    "tables/orders/columns",
]
MARKUP = (
    "</script><script>x()</script>",
    ":raw-html:`x`",
    "x\n\n.. raw:: html\n\n   x",
    "javascript:x()",
)


def test_text_of_a_page_is_one_line_without_markup(config: Settings) -> None:
    """Snakemake writes labels and captions into report.html without escaping them."""
    # every text at one place, and at every place one text
    for place, text in [*((SHOWN[0], text) for text in MARKUP), *zip(SHOWN, cycle(MARKUP))]:
        titles = {text: ["ncm"]}
        mappings = {"groups": titles, "quoted": titles, "quoted_as": {"ncm": text}}
        value = (mappings | {"columns": {"toy/runs": text}}).get(place.split("/")[-1], text)
        (found,) = faults_with(config, place, value)
        assert f"{text!r} is not one line of plain text" in found, place


def test_an_id_is_text_of_its_form_and_may_be_of_digits(config: Settings) -> None:
    """YAML reads 2019, true and null without quotes as something else than text."""
    datasets, block = config["datasets"], config["datasets"]["cub-50"]
    names: list[Any] = [2019, 1.5, True, None, "1E3", "a_b", ""]
    for name in names:
        (found, *_) = malformed(config | {"datasets": datasets | {name: block}})
        assert found.startswith("config/datasets.yaml: ")
    assert [*malformed(config | {"datasets": datasets | {"2019": block, "1e3": block}})] == []


def test_parts_of_a_composition_have_settings(config: Settings) -> None:
    hyper = {"map": {"relu": {"width": 2000, "ridges": "wide"}}, "core": None, "ridge": [0.1, 1.0]}
    config["methods"]["mine"] = {"label": "Mine", "learner": "compose", "hyper": hyper}
    assert [*malformed(config)] == []


def test_a_wheel_is_pinned_whole(config: Settings) -> None:
    weights = config["backbones"]["efficientnet-lite0"]["weights"]
    for key in ("package", "version", "wheel_sha256", "member", "bytes", "sha256"):
        less = {k: v for k, v in weights.items() if k != key}
        (found,) = faults_with(config, "backbones/efficientnet-lite0/weights", less)
        assert found == f"config/backbones.yaml: efficientnet-lite0.weights: '{key}' is missing"


def choices(block: type, key: str) -> set[str]:
    return set(get_args(get_type_hints(block)[key]))


def test_choices_are_those_of_the_code() -> None:
    assert choices(settings.Method, "features") == {*KINDS}
    assert choices(settings.Weights, "keys") == {*KEYMAPS}
    assert choices(settings.Dataset, "reader") == set(READERS)
    assert choices(settings.Extraction, "precision") == set(PRECISIONS)
    assert choices(settings.Suite, "stress") == {"none", *STRESS}
    named = {
        block: {field.alias or name for name, field in block.model_fields.items()}
        for block in (settings.Stress, settings.Stream)
    }
    assert named[settings.Stream] == set(RATED)
    assert named[settings.Stress] - {*STRESS} <= set(RATED)


DAMAGED: dict[bytes, str] = {
    b"a: [1": "not YAML", b"": "", b"- 1": "", b"a: &a [*a]": "", b"a: 2001-99-99": "not YAML",
    b"suite: !!python/object/apply:os.getcwd []": "not YAML: .*could not determine",
    b"suite: !!python/name:os.getcwd ''": "not YAML: .*could not determine",
    b"a: 1\nb: {c: [0.5], c: [1]}\n": "the key 'c' is there twice in .*line 2",
    b"a: 1\nb: 2\na: 3\n": "the key 'a' is there twice in .*line 3",
    b"a: " + b"9" * 5000: "", b"\xff\xfe\x00": "not YAML",
}  # fmt: skip


def test_a_damaged_file_is_named(project: Path) -> None:
    (project / "config/config.yaml").unlink()  # of a deployed workflow, which has no params.yaml
    for name in ("params.yaml", "config/methods.yaml"):
        before = (project / name).read_bytes()
        for content, words in DAMAGED.items():
            (project / name).write_bytes(content)
            lines = refused(project)
            assert all(name in line for line in lines) and re.search(words, lines[0]), lines
        (project / name).unlink()
        assert all(name in line for line in refused(project))
        (project / name).write_bytes(before)


def test_what_is_no_number_is_refused(project: Path) -> None:
    for file, old, new, key in (
        ("params.yaml", "overlap: 0.5", "overlap: {}", "spectrum.recommend.overlap"),
        ("config/methods.yaml", "tau: 0.95, ", "tau: {}, ", "hyper.tau"),
        (
            "config/suites/returning.yaml",
            "returning: [0.5, 1]",
            "returning: [{}]",
            "streams.1.returning.0",
        ),
    ):
        text = (project / file).read_text(encoding="utf-8")
        assert old in text
        for number in (".nan", ".inf", "-.inf"):
            (project / file).write_text(text.replace(old, new.format(number), 1), encoding="utf-8")
            (line,) = refused(project)
            assert file in line and key in line and f"{number.replace('.', '')} is no" in line
        (project / file).write_text(text, encoding="utf-8")


def test_a_suite_is_one_file_and_a_data_set_one_block(project: Path) -> None:
    """docs/data.md: `mybirds: {reader: folder, root: ...}` and `--config suite=mybirds`; imported features."""
    shutil.copy(project / "config/suites/toy.yaml", project / "config/suites/mine.yaml")
    config = load(project, {"suite": "mine"})
    assert config["suites"]["mine"] == config["suites"]["toy"]
    digits = config["suites"]["digits"]
    birds = {"reader": "folder", "root": "birds"}
    config = load(project, {"datasets": {"mybirds": birds}, "suite": "mybirds"})
    own = {"datasets": ["mybirds"], "title": "mybirds"}
    assert config["suites"]["mybirds"] == digits | own
    assert config["datasets"]["mybirds"]["short"] == "mybirds"
    block = {"features": "file", "path": "data/features/other/my-net"}
    edit_yaml(project / "config/datasets.yaml", lambda tree: tree.update(other=block))
    config = load(project, {"suite": "other"})
    assert config["backbones"]["my-net"]["label"] == "my-net"
    own = {"datasets": ["other"], "title": "other", "backbones": ["my-net"]}
    assert config["suites"]["other"] == digits | own
    edit_yaml(project / "config/suites/mine.yaml", lambda tree: tree.update(sessions=1))
    (line,) = refused(project)  # of a key that the file leaves out, and so without the line
    assert line.startswith("config/suites/mine.yaml: figures: ") and line.endswith("Take it out.")
    (project / "config/suites/mine.yaml").unlink()
    shutil.copy(project / "config/suites/toy.yaml", project / "config/suites/My suite.yaml")
    (line,) = refused(project)
    assert line.startswith("config/suites/My suite.yaml: 'My suite' is not an id")


def test_overrides_are_merged_key_by_key_and_named_as_such() -> None:
    overrides = {
        "methods": {"sparcl-paper": {"hyper": {"tau": 0.9}}},
        "suites": {"toy": {"sessions": 3}},
    }
    config = load(ROOT, overrides)
    assert config["methods"]["sparcl-paper"]["hyper"] == {"ridge": 1.0, "tau": 0.9, "refresh": 2}
    assert config["suites"]["toy"]["sessions"] == 3 and config["suites"]["toy"]["traces"] == 1
    (line,) = refused(ROOT, {"suit": "toy"})
    assert line.startswith("params.yaml: suit: unknown key 'suit'; known are suite, solver")
    assert line.endswith("(as --config or --configfile has it)")
    # 1 == True: what is equal to the files' value is checked all the same
    (line,) = refused(ROOT, {"suites": {"toy": {"normalize": 1}}})
    assert "toy.yaml: normalize: 1 should be" in line and "as --config" in line
    before = {"a": {"b": 1}, "c": [1]}
    assert merged(before, {"a": {"d": 2}, "c": {"e": 3}}) == {"a": {"b": 1, "d": 2}, "c": {"e": 3}}
    assert before == {"a": {"b": 1}, "c": [1]}


def test_a_fault_of_a_suite_that_nobody_wrote_says_which_file_to_write() -> None:
    block = {"reader": "folder", "root": "birds", "classes": 3}
    (said,) = refused(ROOT, {"suite": "mybirds", "datasets": {"mybirds": block}})
    assert said.startswith("config/suites/mybirds.yaml: sessions: 'mybirds': 3 classes cannot fill")
    assert "'mybirds' runs the protocol of suite 'digits'; for another, write this file." in said


def test_keys_of_a_data_set_that_do_not_go_together(config: Settings) -> None:
    domains = {"reader": "folder", "class_depth": 2, "domains": ["Art"]}
    assert faults_with(config, "datasets/mine", domains) == []
    for block, words in (
        (domains | {"class_depth": 1}, "'domains' lie above the classes"),
        ({"reader": "folder", "domains": ["Art"]}, "'domains' lie above the classes"),
        ({"reader": "cub", "class_depth": 2}, "'class_depth' does not go with `reader: cub`"),
        ({"features": "file"}, "'path' is missing"),
        ({"features": "file", "path": "a/My Net"}, "is not of imported features"),
        ({"features": "file", "path": "a/net", "reader": "folder"}, "'reader' does not go with"),
        ({"features": "file", "path": "a/net", "shards": 2}, "'shards' does not go with"),
        ({"features": "bundle", "path": "a/net"}, "write `features: file`"),
        ({"reader": "folder", "path": "a/net"}, "write `features: file`"),
    ):
        (line,) = faults_with(config, "datasets/mine", block)
        assert line.startswith("config/datasets.yaml: mine") and words in line


def test_methods_that_a_suite_varies(project: Path) -> None:
    config = load(ROOT)
    sweep, of = config["suites"]["sweep"], config["methods"]["sparcl-paper"]
    made = config["methods"]["tau085-ridge10"]
    assert made["hyper"] == of["hyper"] | {"ridge": 10.0, "tau": 0.85}
    assert (made["label"], made["learner"]) == ("ridge 10, τ = 0.85", of["learner"])
    assert sweep["methods"].index("m064") < sweep["methods"].index("paper-tau095")
    family = {"of": "acil", "over": {"relative": [True, False]}, "id": "x-{relative}", "label": "x"}

    def vary(**change: Any) -> Settings:
        return {"suites": {"toy": {"vary": [family | change]}}}

    # those that `methods` does not name come after it; the rest of the block is the varied method's
    config = load(ROOT, vary(id="acil-{relative:d}", label="ACIL {relative}"))
    assert config["suites"]["toy"]["methods"] == ["ncm", "acil", "sparcl", "acil-1", "acil-0"]
    assert config["methods"]["acil-0"]["select"] == ["ridge"]
    place = "config/suites/toy.yaml: vary.0"
    for change, words in (
        ({"of": "nonesuch"}, ": of: there is no 'nonesuch'"),
        ({"id": "x-{relative}"}, ": x-True: 'x-True' is not an id"),
        ({"id": "acil-{tau}"}, ": `id`, `label` and `short` are filled in with {relative} ('tau')"),
        ({"id": "acil-{relative:.2d}"}, ": `id`, `label`"),
        ({"id": "sparcl"}, ".id: there is another method 'sparcl'"),
        (
            {"over": {"width": [7]}, "id": "acil-7"},
            ".hyper: there is no 'width' among the settings",
        ),
        ({"label": "<{relative}>", "id": "a{relative:d}"}, ": a1.label: '<True>' is not one line"),
    ):
        lines = refused(ROOT, vary(**change))
        assert any(line.startswith(place + words) for line in lines), lines
    text = (project / "config/suites/toy.yaml").read_text(encoding="utf-8")
    broken = text + yaml.safe_dump({"vary": [family | {"of": "nonesuch"}]})
    (project / "config/suites/toy.yaml").write_text(broken, encoding="utf-8")
    assert "(line" in refused(project)[0]
