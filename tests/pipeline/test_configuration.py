"""The settings: what is there passes, what nobody reads is refused with its file and key."""

import shutil
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml
from copies import ROOT
from referencing import Registry

from sparcl.base.errors import ConfigError
from sparcl.extraction.backbones import PRECISIONS
from sparcl.extraction.keymaps import KEYMAPS
from sparcl.extraction.readers import READERS
from sparcl.features.layout import KINDS
from study.pipeline.configuration import SCHEMAS, faults, load, merged, read_yaml
from study.streams import KINDS as STRESS
from study.streams import RATED

Settings = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of all that `load` reads."""
    for name in ("config", SCHEMAS):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def of_none(loaded: Settings, schemas: Registry) -> list[str]:
    """Return what the schemas say of settings that are complete already, and of no change."""
    return [*faults(loaded, schemas)]


def closed(schema: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every mapping of a schema that lists its keys, and whether it allows others."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            composed = path.endswith("$defs/composition")  # its users are closed
            yield path, composed or schema.get("additionalProperties") is False
        for key, value in schema.items():
            yield from closed(value, f"{path}/{key}")


def test_every_level_of_every_schema_is_closed() -> None:
    levels = {}
    for file in (ROOT / SCHEMAS).glob("*.yaml"):
        levels |= dict(closed(yaml.safe_load(file.read_text(encoding="utf-8")), file.name))
    assert len(levels) > 20
    assert [path for path, is_closed in levels.items() if not is_closed] == []


MISSPELT = {
    "params.yaml": "selection.misspelt",
    "config/methods.yaml": "sparcl.misspelt",
    "config/datasets.yaml": "cub-50.counts.misspelt",
    "config/backbones.yaml": "efficientnet-lite0.weights.misspelt",
    "config/figures.yaml": "drift.misspelt",
    "config/tables.yaml": "published.place.misspelt",
    "config/timings.yaml": "refresh.variants.acil.misspelt",
    "config/suites/toy.yaml": "misspelt",
}


@pytest.mark.parametrize("file", MISSPELT)
def test_a_misspelt_key_is_refused_with_its_file_and_place(project: Path, file: str) -> None:
    *above, key = MISSPELT[file].split(".")
    content = yaml.safe_load((project / file).read_text(encoding="utf-8"))
    at = content
    for name in above:
        at = at[name]
    at[key] = 1
    (project / file).write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(project)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(": ".join([file, *[".".join(above)] * bool(above), "Additional"]))
    assert "'misspelt' was unexpected" in line and "known are" in line


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("suite", "Bundled"),
        ("suites/toy/sessions", 0),
        ("suites/toy/sessions", "5"),
        ("suites/toy/normalize", "on"),
        ("suites/toy/methods", ["ncm", "ncm"]),
        ("suites/toy/pairs", [[1993]]),
        ("suites/toy/group", "others"),
        ("methods/sparcl/hyper", {"tau": [0.5]}),
        ("methods/sparcl/hyper", {"map": {"relu": {"width": 200}}}),
        ("methods/flycl/hyper", {"grid": [-1.0]}),
        ("methods/acil-paper/features", "all"),
        ("selection/fit_share", 1),
        ("selection/grid/alpha", ["1e-3"]),
        ("grids/middle", [0]),
        ("validation/share", 1.0),
        ("stress/long-tail/least", 0),
        ("datasets/cub-50/crop", 1.5),
        ("backbones/efficientnet-lite0/weights/sha256", "579344"),
        ("figures/drift/frames", ["curves"]),
        ("tables/main/frames", ["../runs"]),
        ("tables/main/underline", ["ACIL"]),
    ],
)
def test_values_out_of_range(
    config: Settings, schemas: Registry, of_none: list[str], path: str, value: object
) -> None:
    *above, key = path.split("/")
    changed: Any = config
    for name in above:
        changed = changed[name]
    changed[key] = value
    found = [fault for fault in faults(config, schemas) if fault not in of_none]
    assert len(found) == 1 and key in found[0]


INDEX = "1.0\n--extra-index-url https://doi.org/simple"


@pytest.mark.parametrize(
    ("place", "values"),
    {
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
    }.items(),
)  # fmt: skip
def test_what_becomes_a_path_or_a_command_has_one_form(
    config: Settings, schemas: Registry, of_none: list[str], place: str, values: list[str]
) -> None:
    *above, key = [int(name) if name.isdigit() else name for name in place.split("/")]
    changed: Any = config
    for name in above:
        changed = changed[name]
    for value in values:
        changed[key] = value
        found = [fault for fault in faults(config, schemas) if fault not in of_none]
        assert len(found) == 1 and repr(value) in found[0], value


SHOWN = [
    *[f"{kind}/{key}" for kind in ("methods/ncm", "datasets/cub-50") for key in ("label", "short")],
    "backbones/vit-s14-focus/label",
    "figures/drift/caption",
    "figures/peers/groups",
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


# every text at one place, and at every place one text
@pytest.mark.parametrize(
    ("place", "text"),
    [*((SHOWN[0], text) for text in MARKUP), *zip(SHOWN[1:], cycle(MARKUP))],
)
def test_text_of_a_page_is_one_line_without_markup(
    config: Settings, schemas: Registry, of_none: list[str], place: str, text: str
) -> None:
    """Snakemake writes labels and captions into report.html without escaping them."""
    *above, key = [int(name) if name.isdigit() else name for name in place.split("/")]
    changed: Any = config
    for name in above:
        changed = changed[name]
    titles = {text: ["ncm"]}
    mappings = {"groups": titles, "quoted": titles, "quoted_as": {"ncm": text}}
    changed[key] = (mappings | {"columns": {"toy/runs": text}}).get(str(key), text)
    found = [fault for fault in faults(config, schemas) if fault not in of_none]
    assert len(found) == 1 and f"{text!r} is not one line of plain text" in found[0]


def patterns(schema: Any) -> Iterator[str]:
    """Yield every pattern of a schema."""
    if isinstance(schema, dict) and isinstance(schema.get("pattern"), str):
        yield schema["pattern"]
    for below in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(below, dict | list):
            yield from patterns(below)


def test_no_pattern_lets_a_line_break_pass_at_its_end() -> None:
    """In Python `$` also stands before a last line break."""
    found = [
        pattern
        for file in (ROOT / SCHEMAS).glob("*.yaml")
        for pattern in patterns(yaml.safe_load(file.read_text(encoding="utf-8")))
    ]
    assert len(found) > 10
    assert [p for p in found if not (p.startswith("^") and p.endswith(r"\Z"))] == []


def test_parts_of_a_composition_have_settings(config: Settings, schemas: Registry) -> None:
    hyper = {"map": {"relu": {"width": 2000, "grid": "wide"}}, "core": None, "ridge": [0.1, 1.0]}
    config["methods"]["mine"] = {"label": "Mine", "learner": "compose", "hyper": hyper}
    assert not [fault for fault in faults(config, schemas) if "mine" in fault]


@pytest.mark.parametrize("key", ["package", "version", "wheel_sha256", "member", "bytes", "sha256"])
def test_a_wheel_is_pinned_whole(config: Settings, schemas: Registry, key: str) -> None:
    del config["backbones"]["efficientnet-lite0"]["weights"][key]
    assert any(f"'{key}' is a required property" in fault for fault in faults(config, schemas))


def test_choices_are_those_of_the_code() -> None:
    schema = {
        name: yaml.safe_load((ROOT / SCHEMAS / f"{name}.schema.yaml").read_text(encoding="utf-8"))
        for name in ("params", "backbones", "datasets", "methods", "suite")
    }
    blocks = {
        name: schema[name]["additionalProperties"]["properties"]
        for name in ("backbones", "datasets", "methods")
    }
    assert blocks["methods"]["features"]["enum"] == [*KINDS]
    assert blocks["backbones"]["weights"]["properties"]["keys"]["enum"] == [*KEYMAPS]
    assert set(blocks["datasets"]["reader"]["enum"]) == set(READERS)
    page = schema["params"]["properties"]
    assert set(page["extraction"]["properties"]["precision"]["enum"]) == set(PRECISIONS)
    told = {"unannotated", "bad-session", "mislabelled", "returning", "shifted", "imbalanced"}
    assert set(page["stress"]["properties"]) == {*STRESS, *told}
    streams = schema["suite"]["properties"]["streams"]["items"]["patternProperties"]
    assert told <= set(RATED)
    assert {name for key in streams for name in key.strip("^()$").split("|")} == set(RATED)
    assert set(schema["suite"]["properties"]["stress"]["enum"]) == {"none", *STRESS}


def broken(text: str) -> Callable[[Path], None]:
    return lambda file: file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [broken("a: [1"), broken(""), broken("- 1"), broken("a: &a [*a]"), broken("a: 2001-99-99"),
     Path.unlink, lambda file: file.write_bytes(b"\xff\xfe\x00")],
    ids=["open", "empty", "list", "cycle", "date", "missing", "bytes"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["params.yaml", "config/methods.yaml"])
def test_a_damaged_file_is_named(project: Path, name: str, damage: Callable[[Path], None]) -> None:
    damage(project / name)
    with pytest.raises(ConfigError, match=name):
        load(project)


@pytest.mark.parametrize("tag", ["python/object/apply:os.getcwd []", "python/name:os.getcwd ''"])
def test_a_tag_is_refused(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f"suite: !!{tag}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"params\.yaml: this is not YAML: .*could not determine"):
        read_yaml(path)


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
@pytest.mark.parametrize(
    ("file", "old", "new", "key"),
    [
        ("params.yaml", "overlap: 0.5", "overlap: {}", "spectrum.recommend.overlap"),
        ("config/methods.yaml", "tau: 0.95, ", "tau: {}, ", "hyper.tau"),
        (
            "config/suites/returning.yaml",
            "returning: [0.5, 1]",
            "returning: [{}]",
            r"streams\.1\.returning\.0",
        ),
    ],
)
def test_what_is_no_number_is_refused(
    project: Path, file: str, old: str, new: str, key: str, number: str
) -> None:
    text = (project / file).read_text(encoding="utf-8")
    assert old in text
    (project / file).write_text(text.replace(old, new.format(number), 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{file}: .*{key}.*(nan|inf)"):
        load(project)


@pytest.mark.parametrize("text", ["a: 1\nb: {c: [0.5], c: [1]}\n", "a: 1\nb: 2\na: 3\n"])
def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"the key '[ac]' is there twice in .*line [23]"):
        read_yaml(path)


def test_a_suite_is_one_file(project: Path) -> None:
    shutil.copy(project / "config/suites/toy.yaml", project / "config/suites/mine.yaml")
    config = load(project, {"suite": "mine"})
    assert config["suites"]["mine"] == config["suites"]["toy"]
    shutil.copy(project / "config/suites/toy.yaml", project / "config/suites/My suite.yaml")
    with pytest.raises(ConfigError, match=r"My suite\.yaml: 'My suite' does not match"):
        load(project)


def test_an_override_that_differs_in_type_alone_is_refused(project: Path) -> None:
    """`1 == True`: what is equal to the files' value is still checked."""
    assert load(project)["suites"]["toy"]["normalize"] is True
    with pytest.raises(ConfigError, match=r"normalize: .*as --config or --configfile"):
        load(project, {"suites": {"toy": {"normalize": 1}}})


def test_overrides_are_merged_key_by_key_and_named_as_such() -> None:
    overrides = {
        "methods": {"sparcl-paper": {"hyper": {"tau": 0.9}}},
        "suites": {"toy": {"sessions": 3}},
    }
    config = load(ROOT, overrides)
    assert config["methods"]["sparcl-paper"]["hyper"] == {"ridge": 1.0, "tau": 0.9, "refresh": 2}
    assert config["suites"]["toy"]["sessions"] == 3 and config["suites"]["toy"]["traces"] == 1
    with pytest.raises(ConfigError, match=r"'suit' was unexpected.*as --config or --configfile"):
        load(ROOT, {"suit": "toy"})
    before = {"a": {"b": 1}, "c": [1]}
    assert merged(before, {"a": {"d": 2}, "c": {"e": 3}}) == {"a": {"b": 1, "d": 2}, "c": {"e": 3}}
    assert before == {"a": {"b": 1}, "c": [1]}


def test_one_block_of_own_images_is_a_suite_with_labels() -> None:
    """docs/data.md: `mybirds: {reader: folder, root: ...}` and `--config suite=mybirds`."""
    own = {"datasets": {"mybirds": {"reader": "folder", "root": "birds"}}, "suite": "mybirds"}
    config = load(ROOT, own)
    assert config["suites"]["mybirds"] == config["suites"]["digits"] | {"datasets": ["mybirds"]}
    assert config["datasets"]["mybirds"]["short"] == "mybirds"


def test_an_imported_data_set_brings_its_network_and_its_suite(project: Path) -> None:
    block = {"features": "file", "path": "data/features/mine/my-net"}
    with (project / "config/datasets.yaml").open("a", encoding="utf-8") as file:
        yaml.safe_dump({"mine": block}, file)
    settings = load(project, {"suite": "mine"})
    assert settings["backbones"]["my-net"]["label"] == "my-net"
    suite = settings["suites"]["mine"]
    assert (suite["datasets"], suite["backbones"]) == (["mine"], ["my-net"])
    assert suite["sessions"] == settings["suites"]["digits"]["sessions"]


def test_a_fault_of_a_suite_that_nobody_wrote_says_which_file_to_write(project: Path) -> None:
    block = {"reader": "folder", "root": "birds", "classes": 3}
    with pytest.raises(ConfigError) as refused:
        load(project, {"suite": "mybirds", "datasets": {"mybirds": block}})
    (said,) = str(refused.value).splitlines()
    assert said.startswith("config/suites/mybirds.yaml: sessions: 'mybirds': 3 classes cannot fill")
    assert "'mybirds' runs the protocol of suite 'digits'; for another, write this file." in said


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"features": "file"}, "'path' is a required property"),
        ({"features": "file", "path": "a/My Net"}, "is not of imported features"),
        ({"features": "file", "path": "a/net", "reader": "folder"}, "'reader' is not one of"),
        ({"features": "file", "path": "a/net", "shards": 2}, "'shards' is not one of"),
        ({"features": "bundle", "path": "a/net"}, "features: 'file' was expected"),
        ({"reader": "folder", "path": "a/net"}, "'features' is a required"),
    ],
)
def test_a_block_of_an_imported_set_states_its_path_alone(
    project: Path, block: Settings, words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        load(project, {"datasets": {"mine": block}})
    assert "config/datasets.yaml: mine" in str(refused.value)
